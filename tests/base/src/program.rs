//! Runs other programs to their end: one that is given up ends with those that it has started, and one that fails is an error for
//! people. And cargo, as this tool calls it.

use std::ffi::OsStr;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus, Output, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::Child;

use crate::outcome::{Trouble, last_lines};
use crate::process;

/// A running program. Dropping it ends the program and those below it.
pub struct Program {
    /// Its pipes, and its end.
    pub child: Child,
    /// What is to be killed with it; none for a program that ends in order.
    group: Option<u32>,
    signal: Signal,
}

/// Starts a program as the head of a process group. Ctrl-C in a terminal reaches the tool alone then, which ends the group in order.
pub fn start(command: Command) -> Result<Program, Trouble> {
    let failed = cannot_be_run(&command);
    Program::start(command, Signal::SIGTERM).map_err(failed)
}

/// Runs a program to its end, with this on its input, and hands over what it printed.
pub async fn run(command: Command, input: &str) -> Result<Output, Trouble> {
    let failed = cannot_be_run(&command);
    let output = output(command, Signal::SIGTERM, input, u64::MAX).await;
    output.map_err(failed)
}

/// As [`run`], for a program that has nothing to put in order: it is killed, and so is what it has left in the group at its end.
pub async fn run_tool(command: Command) -> Result<Output, Trouble> {
    let failed = cannot_be_run(&command);
    let output = output(command, Signal::SIGKILL, "", u64::MAX).await;
    output.map_err(failed)
}

/// As [`run_tool`], for a program that starts no others, with the CPU time that it took, where this system tells.
pub async fn run_clocked(mut command: Command) -> Result<(Output, Option<Duration>), Trouble> {
    let failed = cannot_be_run(&command);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let clocked = async {
        let mut program = Program::start(command, Signal::SIGKILL)?;
        let (stdout, stderr) = (program.child.stdout.take(), program.child.stderr.take());
        let (stdout, stderr) = tokio::try_join!(read(stdout, u64::MAX), read(stderr, u64::MAX))?;
        // It has ended or is about to, and until it is waited for, its clock is there.
        let spent = program.child.id().and_then(|id| process::cpu(&[id]));
        let status = program.child.wait().await?;
        let output = Output {
            status,
            stdout,
            stderr,
        };
        io::Result::Ok((output, spent))
    };
    clocked.await.map_err(failed)
}

/// What a program prints that has to end well, else this error: see [`printed`].
pub async fn said(command: Command, trouble: Trouble) -> Result<String, Trouble> {
    printed(&run(command, "").await?, trouble)
}

/// What a program has printed that ended well; else this error, with the way it ended and the last lines of what it said.
pub fn printed(output: &Output, trouble: Trouble) -> Result<String, Trouble> {
    let stdout = String::from_utf8_lossy(&output.stdout);
    if output.status.success() {
        return Ok(stdout.into_owned());
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    let said = last_lines(&format!("{}\n{stderr}", stdout.trim_end()));
    Err(trouble.because(format!("{}{said}", output.status)))
}

/// Runs a program to its end; no more than `limit` bytes are read of each of its outputs.
pub(crate) async fn output(
    mut command: Command,
    signal: Signal,
    input: &str,
    limit: u64,
) -> io::Result<Output> {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut program = Program::start(command, signal)?;
    let child = &mut program.child;
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let ended = async {
        let status = program.child.wait().await;
        // What it has left may hold its pipes open.
        program.end_what_is_left();
        status
    };
    let writing = async move {
        if let Some(mut stdin) = stdin {
            // A program that ends before it has read all of it says why.
            let _ = stdin.write_all(input.as_bytes()).await;
        }
    };
    let (stdout, stderr) = (read(stdout, limit), read(stderr, limit));
    let ((), stdout, stderr, status) = tokio::join!(writing, stdout, stderr, ended);
    Ok(Output {
        status: status?,
        stdout: stdout?,
        stderr: stderr?,
    })
}

fn cannot_be_run(command: &Command) -> impl FnOnce(io::Error) -> Trouble + use<> {
    let program = command.get_program().display().to_string();
    move |error| {
        Trouble::new(format!("{program} cannot be run: {error}"))
            .expected(format!("{program} on the PATH"))
            .next("install it with your package manager; just doctor names what the course needs")
    }
}

impl Program {
    fn start(mut command: Command, signal: Signal) -> io::Result<Program> {
        command.process_group(0);
        let child = tokio::process::Command::from(command).spawn()?;
        Ok(Program {
            group: child.id().filter(|_| signal == Signal::SIGKILL),
            child,
            signal,
        })
    }

    /// Ends what a program that is to be killed has left in its group; at once, since a later program may get the group's id.
    fn end_what_is_left(&mut self) {
        if let Some(group) = self.group.take() {
            let _ = killpg(Pid::from_raw(group.cast_signed()), self.signal);
        }
    }

    /// Waits for its end.
    pub async fn ended(mut self) -> io::Result<ExitStatus> {
        self.child.wait().await
    }
}

async fn read(pipe: Option<impl AsyncRead + Unpin>, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(pipe) = pipe {
        pipe.take(limit).read_to_end(&mut bytes).await?;
    }
    Ok(bytes)
}

impl Drop for Program {
    fn drop(&mut self) {
        // Without an id it has ended, and somebody else may have it now.
        if let Some(id) = self.child.id() {
            let _ = killpg(Pid::from_raw(id.cast_signed()), self.signal);
        }
    }
}

/// The same command, to be run once more: its program, its arguments and its variables.
pub fn again(command: &Command) -> Command {
    let mut again = Command::new(command.get_program());
    again.args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => again.env(name, value),
            None => again.env_remove(name),
        };
    }
    again
}

/// Cargo, the one that runs this tool if there is one.
pub fn cargo_command() -> Command {
    cargo_at(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// A cargo, without the variables that an outer `cargo run` sets for the package it runs: they are not this build's.
pub fn cargo_at(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        let mut outer = ["PKG", "MANIFEST", "BIN", "CRATE"].into_iter();
        if outer.any(|outer| text.starts_with(&format!("CARGO_{outer}_"))) {
            command.env_remove(&name);
        }
    }
    command
}

#[cfg(test)]
mod tests {
    use anyhow::Context;
    use tokio::io::{AsyncBufReadExt, BufReader};

    use super::*;
    use crate::wait;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    async fn is_gone(pid: u32) -> bool {
        let gone = async || process::is_gone(pid).then_some(());
        wait::within(Duration::from_secs(5), gone).await.is_some()
    }

    #[tokio::test]
    async fn a_build_that_is_given_up_leaves_no_program() -> anyhow::Result<()> {
        let mut command = shell("sleep 60 & echo $!; wait");
        command.stdout(Stdio::piped());
        let mut shell = start(command)?;
        let pipe = shell.child.stdout.take().context("a pipe")?;
        let mut line = String::new();
        BufReader::new(pipe).read_line(&mut line).await?;
        let below: u32 = line.trim().parse()?;
        drop(shell);
        assert!(is_gone(below).await);
        Ok(())
    }

    #[tokio::test]
    async fn a_tool_that_has_ended_leaves_no_program() -> anyhow::Result<()> {
        let output = run_tool(shell("sleep 60 >/dev/null 2>&1 & echo $!")).await?;
        let left: u32 = String::from_utf8(output.stdout)?.trim().parse()?;
        assert!(output.status.success() && is_gone(left).await);
        Ok(())
    }

    #[tokio::test]
    async fn a_tool_has_ended_when_what_it_left_still_holds_its_output() -> anyhow::Result<()> {
        let ended = run_tool(shell("sleep 60 & echo $!"));
        let output = tokio::time::timeout(Duration::from_secs(20), ended).await??;
        let left: u32 = String::from_utf8(output.stdout)?.trim().parse()?;
        assert!(is_gone(left).await);
        Ok(())
    }

    #[tokio::test]
    async fn a_program_that_fails_says_how_it_ended_and_why() {
        let trouble = || Trouble::new("it cannot be copied").next("df -h");
        let script = "echo copying; echo 'no room' >&2; exit 3";
        let failed = said(shell(script), trouble()).await.unwrap_err();
        assert_eq!(
            failed.to_string(),
            "it cannot be copied: exit status: 3\n  | copying\n  | no room\n  next: df -h"
        );
        let absent = said(Command::new("no-such-program"), trouble()).await;
        let absent = absent.unwrap_err().to_string();
        assert!(
            absent.starts_with("no-such-program cannot be run: No such file"),
            "{absent}"
        );
        assert_eq!(
            said(shell("cat; echo done"), trouble()).await.unwrap(),
            "done\n"
        );
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn the_cpu_time_of_a_program_is_not_that_of_one_that_ends_beside_it() -> anyhow::Result<()>
    {
        let folder = tempfile::tempdir()?;
        let ended = folder.path().join("ended");
        let ended = ended.display();
        let busy = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done";
        let busy = shell(&format!("{busy}; : >{ended}"));
        let idle = shell(&format!("while ! [ -e {ended} ]; do sleep 0.05; done"));
        let (busy, idle) = tokio::try_join!(run_clocked(busy), run_clocked(idle))?;
        let busy = busy.1.context("no clock")?;
        assert!(idle.1.context("no clock")? < busy / 2, "{busy:?}");
        Ok(())
    }
}
