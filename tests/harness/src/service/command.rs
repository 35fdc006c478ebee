//! How a service is called, and how it is made to end with the tool.

use std::fs::File;
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use nix::sys::signal::Signal;
use nix::unistd::{Pid, getpid, getppid};

use super::settings::Settings;
use crate::build::Launch;
use workshop_base::environment;

/// The command line of a launch, its output going to this log. Variables that would configure the service, Rocket or
/// the JVM behind the suite's back are taken out.
pub fn command(
    launch: &Launch,
    settings: &Settings,
    address: SocketAddr,
    log: &Path,
) -> std::io::Result<Command> {
    let mut command = Command::new(&launch.program);
    environment::for_service(&mut command);
    let output = File::create(log)?;
    command
        .args(&launch.args)
        .current_dir(&launch.directory)
        // A backtrace would push the message of a panic out of the lines that a learner is shown.
        .env("RUST_BACKTRACE", "0")
        .envs(launch.env.iter().cloned())
        .envs(settings.environment(address))
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output)
        .process_group(0);
    Ok(command)
}

/// On Linux the kernel sends the process this signal when the tool ends, even when the tool is killed and can clean nothing up.
pub(crate) fn die_with_the_tool(command: &mut Command, signal: Signal) {
    die_with(getpid(), command, signal);
}

fn die_with(parent: Pid, command: &mut Command, signal: Signal) {
    #[cfg(target_os = "linux")]
    {
        #[expect(
            unsafe_code,
            reason = "pre_exec is unsafe; prctl and getppid are async-signal-safe and allocate nothing"
        )]
        // SAFETY: the closure runs between fork and exec and only makes two system calls.
        unsafe {
            command.pre_exec(move || {
                nix::sys::prctl::set_pdeathsig(signal)?;
                // A process that lost its parent before that line would never be told.
                if getppid() == parent {
                    Ok(())
                } else {
                    Err(nix::errno::Errno::ESRCH.into())
                }
            });
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (parent, command, signal);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn a_program_whose_tool_has_ended_before_it_began_does_not_run() -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let mut command = Command::new("touch");
        command.arg(folder.path().join("ran"));
        die_with(Pid::from_raw(1), &mut command, Signal::SIGKILL);
        assert!(command.spawn().is_err());
        assert!(!folder.path().join("ran").exists());
        Ok(())
    }
}
