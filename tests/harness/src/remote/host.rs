//! A machine that is connected by ssh: how commands run there, how files get there, and how ports become each other's.

use std::ffi::OsStr;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context;
use serde::{Deserialize, Serialize};
use tokio::io::AsyncWriteExt;
use workshop_base::outcome::Trouble;
use workshop_base::probe::{self, PATIENT};
use workshop_base::program::{self, Program};

const GUARD: &str = include_str!("guard.sh");

/// A machine that is connected. It is data only: the [`Connection`](super::Connection) keeps it connected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// As it was typed: `pi@raspberrypi`.
    pub destination: String,
    /// The socket of the connection.
    pub(super) control: PathBuf,
    /// The address that it was reached at, which services listen on.
    pub address: IpAddr,
    /// The folder there that goes with the connection.
    pub folder: String,
    /// Its architecture, as `uname -m` has it: `aarch64`.
    pub machine: String,
}

/// What every `ssh` is told.
pub(super) const OPTIONS: [&str; 8] = [
    // It must never ask for a password.
    "-oBatchMode=yes",
    "-oConnectTimeout=10",
    // Fifteen seconds of silence end the connection.
    "-oServerAliveInterval=5",
    "-oServerAliveCountMax=3",
    "-oControlPersist=no",
    "-oClearAllForwardings=yes",
    "-oRemoteCommand=none",
    "-oRequestTTY=no",
];

/// Over the connection that is there, and never over a new one.
const SHARED: [&str; 2] = ["-oControlMaster=no", "-oProxyCommand=false"];

/// A program that a guard holds on the host. Dropping it ends the program.
pub struct Held {
    ssh: Program,
    _line: tokio::process::ChildStdin,
}

impl Held {
    /// Waits for its end by itself.
    pub async fn ended(&mut self) -> std::io::Result<std::process::ExitStatus> {
        self.ssh.child.wait().await
    }
}

impl Host {
    /// The name without the user, for files and for people: `raspberrypi`.
    pub fn name(&self) -> &str {
        name_in(&self.destination)
    }

    /// True when it runs what is built for this machine.
    pub fn runs_what_is_built_here(&self) -> bool {
        cfg!(target_os = "linux") && self.machine == std::env::consts::ARCH
    }

    /// The file with the process id of the service that listens on a port there.
    pub fn pid_file(&self, port: u16) -> String {
        format!("{}/{port}.pid", self.folder)
    }

    /// `ssh` with words that its shell reads as they are.
    pub fn command<S: AsRef<str>>(&self, words: &[S]) -> Command {
        let mut command = self.ssh();
        command
            .args(OPTIONS)
            .arg(&self.destination)
            .arg(shell_words::join(words.iter().map(AsRef::as_ref)));
        command
    }

    /// `ssh` with a script of ours; `name` is what the script's own errors call it.
    pub fn script(&self, script: &str, name: &str, arguments: &[&str]) -> Command {
        self.command(&[&["sh", "-c", script, name], arguments].concat())
    }

    /// `ssh` with a program that a guard holds: it ends with the input. Its id goes into the file.
    pub fn guarded(&self, pid_file: &str, words: &[&str]) -> Command {
        let arguments = [&[pid_file, self.folder.as_str()], words].concat();
        let mut command = self.script(GUARD, "guard", &arguments);
        command.stdin(Stdio::piped());
        command
    }

    /// Starts a program that a guard holds, with these files for its output.
    pub async fn hold(
        &self,
        pid_file: &str,
        words: &[&str],
        output: std::fs::File,
    ) -> anyhow::Result<Held> {
        let mut command = self.guarded(pid_file, words);
        command.stdout(output.try_clone()?).stderr(output);
        let mut ssh = program::start(command)?;
        let mut line = ssh.child.stdin.take().context("ssh took no input")?;
        line.write_all(b"\n").await?;
        Ok(Held { ssh, _line: line })
    }

    /// What a command says there that ends well.
    pub fn said(&self, words: &[&str]) -> Option<String> {
        let command = self.command(words);
        let arguments: Option<Vec<&str>> = command.get_args().map(OsStr::to_str).collect();
        match probe::ask_and_wait(Path::new("ssh"), &arguments?, PATIENT) {
            probe::ProbeAnswer::Said(text) => Some(text),
            _ => None,
        }
    }

    /// True when it still answers. It takes as long as ssh needs to give a silent one up, a quarter of a minute.
    pub fn answers(&self) -> bool {
        self.said(&["true"]).is_some()
    }

    /// Copies a file into the folder there; its path there.
    pub async fn bring(&self, file: &Path) -> anyhow::Result<String> {
        let name = file.file_name().and_then(OsStr::to_str);
        let name = name.with_context(|| format!("{} has no name", file.display()))?;
        let there = format!("{}/{name}", self.folder);
        let mut scp = Command::new("scp");
        scp.arg("-p")
            .arg(format!("-oControlPath={}", self.control.display()))
            .args(OPTIONS)
            .args(SHARED)
            .arg(file)
            .arg(format!("{}:{there}", self.destination));
        let place = &self.destination;
        let trouble = Trouble::new(format!("{name} cannot be copied to {place}"))
            .expected(format!("room for it in {} there", self.folder))
            .next(format!("ssh {place} df -h /var/tmp"));
        program::said(scp, trouble).await?;
        Ok(there)
    }

    /// Makes a port of the host's loopback one of this machine's.
    pub async fn borrow_port(&self, port: u16) -> anyhow::Result<()> {
        self.forward("-L", port).await
    }

    /// Makes a port of this machine's loopback one of the host's.
    pub async fn lend_port(&self, port: u16) -> anyhow::Result<()> {
        self.forward("-R", port).await
    }

    async fn forward(&self, direction: &str, port: u16) -> anyhow::Result<()> {
        let mut command = self.ssh();
        command
            .args(["-O", "forward", direction])
            .arg(format!("127.0.0.1:{port}:127.0.0.1:{port}"))
            .arg(&self.destination);
        let place = &self.destination;
        let trouble = Trouble::new(format!("no tunnel to {place} for the port {port}"))
            .expected(
                "a port that is free on both machines, and AllowTcpForwarding in its sshd_config",
            )
            .next("run it again");
        program::said(command, trouble).await?;
        Ok(())
    }

    fn ssh(&self) -> Command {
        let mut command = Command::new("ssh");
        command
            .arg(format!("-oControlPath={}", self.control.display()))
            .args(SHARED);
        command
    }
}

/// What follows the user in what was typed.
pub fn name_in(destination: &str) -> &str {
    destination
        .rsplit_once('@')
        .map_or(destination, |(_, name)| name)
}

/// Refuses what ssh would take for an option, or a shell for more than a word.
pub fn destination(text: &str) -> Result<String, String> {
    let allowed = |letter: char| letter.is_ascii_alphanumeric() || "@._-".contains(letter);
    let good = !text.is_empty() && !text.starts_with(['-', '.']) && text.chars().all(allowed);
    if good && !name_in(text).is_empty() {
        Ok(text.to_owned())
    } else {
        Err("a machine is user@host, or a name of your ~/.ssh/config".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host() -> Host {
        Host {
            destination: "pi@raspberrypi".to_owned(),
            control: "/tmp/c".into(),
            address: IpAddr::from([10, 0, 0, 2]),
            folder: "/var/tmp/f".to_owned(),
            machine: "aarch64".to_owned(),
        }
    }

    #[test]
    fn what_ssh_would_take_for_an_option_is_no_machine() {
        for good in [
            "pi@raspberrypi",
            "pi@10.0.0.2",
            "my-pi",
            "pi@raspberrypi.local",
        ] {
            assert_eq!(destination(good), Ok(good.to_owned()));
        }
        for bad in [
            "",
            "-oProxyCommand=x",
            "pi@",
            "a b",
            "pi@[::1]",
            "pi@host;id",
            "../x",
        ] {
            assert!(destination(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_word_arrives_as_it_is_and_only_by_the_connection_that_is_there() {
        let command = host().script("echo \"$1\"", "say", &["it's one word"]);
        let arguments: Vec<_> = command.get_args().filter_map(OsStr::to_str).collect();
        assert!(arguments.contains(&"-oProxyCommand=false"), "{arguments:?}");
        let typed = arguments.last().unwrap();
        let words = shell_words::split(typed).unwrap();
        assert_eq!(words, ["sh", "-c", "echo \"$1\"", "say", "it's one word"]);
        let said = Command::new("sh").args(["-c", typed]).output().unwrap();
        assert_eq!(said.stdout, b"it's one word\n");
    }

    #[test]
    fn a_program_that_a_guard_holds_has_its_variables_and_ends_with_the_input() -> anyhow::Result<()>
    {
        let folder = tempfile::tempdir()?;
        let pid_file = folder.path().join("1.pid");
        let mut guard = Command::new("sh")
            .args(["-c", GUARD, "guard"])
            .arg(&pid_file)
            .arg(folder.path())
            .args([
                "sh",
                "-c",
                "trap 'exit 7' TERM; echo $WORD >said; while :; do sleep 0.1; done",
            ])
            .stdin(Stdio::piped())
            .spawn()?;
        let mut line = guard.stdin.take().context("an input")?;
        std::io::Write::write_all(&mut line, b"WORD=two words\n\n")?;
        let said = folder.path().join("said");
        let has_said = || std::fs::read_to_string(&said).is_ok_and(|said| said == "two words\n");
        while !(has_said() && pid_file.exists()) {
            assert!(guard.try_wait()?.is_none());
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        let program: u32 = std::fs::read_to_string(&pid_file)?.trim().parse()?;
        assert!(!workshop_base::process::is_gone(program));
        drop(line);
        assert_eq!(guard.wait()?.code(), Some(7));
        assert!(workshop_base::process::is_gone(program) && !pid_file.exists());
        Ok(())
    }
}
