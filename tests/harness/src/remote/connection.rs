//! The connection to a machine: opened once, kept alive, and taken down with everything that runs there.

use std::net::IpAddr;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::Context;
use nix::sys::signal::Signal;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin};
use tokio::task::JoinHandle;
use workshop_base::outcome::{Trouble, last_lines};
use workshop_base::scratch;

use super::host::{Host, OPTIONS};
use crate::service::die_with_the_tool;

const SESSION: &str = include_str!("session.sh");
/// What the line begins with that the session says first. A login shell may say something before it.
const READY: &str = "workshop-session ";
/// How long it may take until the session has said that.
const PATIENCE: Duration = Duration::from_secs(30);
/// Between two signs of life, and how long the machine waits for one, in seconds.
const SIGN: Duration = Duration::from_secs(5);
const SILENCE: &str = "20";
/// How long the machine may take to put everything in order.
const IN_ORDER: Duration = Duration::from_secs(20);

/// A machine that stays connected until this is closed or dropped.
pub struct Connection {
    host: Host,
    ssh: Child,
    signs: JoinHandle<()>,
    /// What ssh complains about.
    complaints: JoinHandle<String>,
    _control: TempDir,
}

impl Connection {
    /// Connects with `user@host`, or a name of the user's ssh configuration. Keys must be in place: ssh never asks for a password.
    pub async fn open(destination: &str) -> anyhow::Result<Connection> {
        let control = scratch::folder()?;
        let socket = control.path().join("ssh");
        let mut command = Command::new("ssh");
        command
            // The load goes to the address that this reaches, and a local one of IPv6 could not be written in a URL.
            .args(["-4", "-oControlMaster=yes"])
            .arg(format!("-oControlPath={}", socket.display()))
            .args(OPTIONS)
            .arg(destination)
            .arg(shell_words::join(["sh", "-c", SESSION, "session", SILENCE]))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        die_with_the_tool(&mut command, Signal::SIGKILL);
        let mut command = tokio::process::Command::from(command);
        let mut ssh = command.kill_on_drop(true).spawn().map_err(|error| {
            Trouble::new(format!("ssh cannot be run: {error}"))
                .expected("OpenSSH's client on the PATH")
                .next("install openssh-client with your package manager")
        })?;
        let line = ssh.stdin.take().context("ssh took no input")?;
        let stdout = ssh.stdout.take().context("ssh gave no output")?;
        let mut stderr = ssh.stderr.take().context("ssh gave no errors")?;
        let signs = tokio::spawn(give_signs_of_life(line));
        let complaints = tokio::spawn(async move {
            let mut said = Vec::new();
            // What was read before an error counts.
            let _ = stderr.read_to_end(&mut said).await;
            String::from_utf8_lossy(&said).into_owned()
        });
        let mut lines = BufReader::new(stdout).lines();
        let ready = async {
            while let Ok(Some(line)) = lines.next_line().await {
                if let Some(said) = line.strip_prefix(READY) {
                    return Some(said.to_owned());
                }
            }
            None
        };
        let ready = tokio::time::timeout(PATIENCE, ready).await;
        if let Ok(Some(said)) = ready {
            let host = host(destination, &said, socket).with_context(|| {
                format!("{destination} says something unknown of itself: {said:?}")
            })?;
            return Ok(Connection {
                host,
                ssh,
                signs,
                complaints,
                _control: control,
            });
        }
        signs.abort();
        let why = match ready {
            Ok(_) => complaints.await?,
            Err(_) => format!("no answer within {} s", PATIENCE.as_secs()),
        };
        Err(refused(destination, &why))
    }

    /// The machine.
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// Returns when the connection is lost, with the error for people.
    pub async fn lost(&mut self) -> anyhow::Error {
        // It ends only when it is lost, or when the session there has been ended by somebody.
        let _ = self.ssh.wait().await;
        let said = (&mut self.complaints).await.unwrap_or_default();
        let place = &self.host.destination;
        Trouble::new(format!("the connection to {place} was lost{}", last_lines(&said)))
            .expected(format!("{place} awake and reachable until the end; it stops what runs there by itself"))
            .next("nothing was written, and earlier results are as they were: run it again once ssh gets there")
            .into()
    }

    /// As [`Connection::lost`] where the connection is lost within seconds, else this error.
    pub async fn lost_or(&mut self, error: anyhow::Error) -> anyhow::Error {
        let lost = tokio::time::timeout(IN_ORDER, self.lost()).await;
        lost.unwrap_or(error)
    }

    /// Stops what runs there, removes the folder, and disconnects.
    pub async fn close(mut self) {
        // The end of the signs of life is the end of the session.
        self.signs.abort();
        // Where that takes too long, the connection is cut, and the machine carries on by itself.
        let _ = tokio::time::timeout(IN_ORDER, self.ssh.wait()).await;
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.signs.abort();
    }
}

async fn give_signs_of_life(mut line: ChildStdin) {
    while line.write_all(b"\n").await.is_ok() {
        tokio::time::sleep(SIGN).await;
    }
}

/// What the session says: its folder, the architecture, and what ssh tells it of the connection.
fn host(destination: &str, said: &str, control: std::path::PathBuf) -> Option<Host> {
    let words: Vec<&str> = said.split_whitespace().collect();
    let [folder, machine, _, _, address, _] = words.as_slice() else {
        return None;
    };
    let address: IpAddr = address.parse().ok()?;
    Some(Host {
        destination: destination.to_owned(),
        control,
        address,
        folder: (*folder).to_owned(),
        machine: (*machine).to_owned(),
    })
}

/// Why there is no connection, and what helps.
fn refused(destination: &str, said: &str) -> anyhow::Error {
    let next = if said.contains("Permission denied") {
        format!("ssh-copy-id {destination}, so that ssh asks for no password")
    } else if said.contains("Host key verification failed") {
        format!("ssh {destination} true, once by hand: it asks whether you know this machine")
    } else {
        format!(
            "ssh {destination} true, by hand; is it switched on, and is its ssh server enabled?"
        )
    };
    let said = last_lines(said);
    Trouble::new(format!("ssh does not get to {destination}:{said}"))
        .expected("a machine with Linux that lets you in by a key, without a password")
        .next(next)
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_of_the_machine_is_the_one_that_ssh_has_reached() {
        let said = "/var/tmp/a.b aarch64 10.0.0.1 50000 10.0.0.2 22";
        let host = host("pi@raspberrypi", said, "/tmp/c".into()).unwrap();
        assert_eq!(host.address, IpAddr::from([10, 0, 0, 2]));
        assert_eq!(
            (host.folder.as_str(), host.name()),
            ("/var/tmp/a.b", "raspberrypi")
        );
        assert_eq!(
            super::host("pi", "/var/tmp/a.b aarch64", "/tmp/c".into()),
            None
        );
    }

    #[test]
    fn a_refusal_says_what_helps_against_it() {
        for (said, helps) in [
            (
                "pi@raspberrypi: Permission denied (publickey).",
                "ssh-copy-id pi@raspberrypi",
            ),
            ("Host key verification failed.", "once by hand"),
            (
                "ssh: connect to host raspberrypi port 22: Connection refused",
                "switched on",
            ),
        ] {
            let error = refused("pi@raspberrypi", said).to_string();
            assert!(error.contains(said) && error.contains(helps), "{error}");
        }
    }

    #[cfg(target_os = "linux")]
    /// The session as it runs on the machine, with a folder that is removed whatever way it ends.
    fn session(silence: &str) -> anyhow::Result<(std::process::Child, String)> {
        let mut session = Command::new("sh")
            .args(["-c", SESSION, "session", silence])
            .env("SSH_CONNECTION", "10.0.0.1 50000 10.0.0.2 22")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let stdout = session.stdout.take().context("an output")?;
        let mut said = String::new();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(stdout), &mut said)?;
        let said = said.strip_prefix(READY).context("another line")?;
        Ok((
            session,
            said.split(' ').next().unwrap_or_default().to_owned(),
        ))
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_session_that_hears_nothing_anymore_stops_what_runs_and_leaves_nothing()
    -> anyhow::Result<()> {
        // The input stays open in the first case, as it does when the line falls silent.
        for (silence, hang_up) in [("3", false), ("60", true)] {
            let (mut session, folder) = session(silence)?;
            let line = session.stdin.take();
            let mut program = Command::new("sleep").arg("60").spawn()?;
            std::fs::write(format!("{folder}/1.pid"), program.id().to_string())?;
            let _open = line.filter(|_| !hang_up);
            program.wait()?;
            session.wait()?;
            assert!(!std::path::Path::new(&folder).exists(), "{folder}");
        }
        Ok(())
    }
}
