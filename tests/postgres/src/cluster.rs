//! A PostgreSQL server of our own: its folder with the data, the log and what the tool keeps about it (`server.toml`); made,
//! started, found running and ended.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::Context;
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;

use crate::account::Account;
use crate::binaries::Binaries;
use crate::connection::{Address, Facts, START_LIMIT};
use crate::identity;
use crate::settings::BinariesFrom;
use crate::{configuration, connection};
use workshop_base::outcome::{Trouble, last_lines};
use workshop_base::{files, wait};

/// The superuser of the cluster.
pub(crate) const USER: &str = "workshop";

/// How many other ports are tried: a free one can be taken by somebody else before PostgreSQL has it.
const PORTS: u32 = 4;

/// How long the processes of a killed server may hold on to its shared memory.
const LINGER: Duration = Duration::from_secs(15);

/// What the tool keeps about a server that it made.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Kept {
    /// The port of the last start.
    port: u16,
    /// The password of [`USER`].
    password: String,
    /// The folder of the programs.
    pub bin: PathBuf,
}

impl Kept {
    pub(crate) fn address(&self) -> anyhow::Result<Address> {
        Address::ours("127.0.0.1", self.port, USER, &self.password)
    }
}

/// A server's folder.
#[derive(Debug, Clone)]
pub(crate) struct Cluster {
    pub folder: PathBuf,
    pub account: Account,
}

/// The clusters in a home, the one that was started last first.
pub(crate) fn clusters(home: &Path, account: &Account) -> Vec<Cluster> {
    let entries = std::fs::read_dir(home).into_iter().flatten().flatten();
    let mut folders: Vec<_> = entries
        .filter_map(|entry| {
            let kept = entry.path().join("server.toml").metadata().ok()?;
            Some((kept.modified().ok()?, entry.path()))
        })
        .collect();
    folders.sort();
    let newest_first = folders.into_iter().rev();
    newest_first
        .map(|(_, folder)| Cluster {
            folder,
            account: account.clone(),
        })
        .collect()
}

impl Cluster {
    /// True when its programs came as this beginning of its folder's name says.
    pub(crate) fn is_of(&self, prefix: &str) -> bool {
        let name = self.folder.file_name().unwrap_or_default();
        name.to_string_lossy().starts_with(prefix)
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    fn log(&self) -> PathBuf {
        self.folder.join("log")
    }

    /// What is kept of a cluster that was made to its end.
    pub(crate) fn kept(&self) -> Option<Kept> {
        let text = std::fs::read_to_string(self.folder.join("server.toml")).ok()?;
        self.data()
            .join("PG_VERSION")
            .is_file()
            .then(|| toml::from_str(&text).ok())
            .flatten()
    }

    /// Writes `server.toml`. Only the user who runs the server can enter its folder.
    pub(crate) fn keep(&self, kept: &Kept) -> anyhow::Result<()> {
        files::write_atomically(
            &self.folder.join("server.toml"),
            toml::to_string(kept)?.as_bytes(),
        )
    }

    /// Makes the cluster with `initdb`: made aside and renamed, so that half a cluster never counts.
    pub(crate) async fn make(&self, binaries: &Binaries) -> anyhow::Result<Kept> {
        eprintln!(
            "making an embedded PostgreSQL {} in {}",
            binaries.version,
            self.folder.display()
        );
        let aside = self.folder.join("data.new");
        files::remove(&aside)?;
        files::remove(&self.data())?;
        std::fs::create_dir_all(&self.folder)
            .with_context(|| format!("cannot make {}", self.folder.display()))?;
        std::fs::set_permissions(&self.folder, std::fs::Permissions::from_mode(0o700))?;
        self.account.own(&self.folder)?;
        let kept = Kept {
            port: free_port()?,
            password: identity::password(),
            bin: binaries.bin.clone(),
        };
        let secret = self.folder.join("password.new");
        std::fs::write(&secret, &kept.password)?;
        self.account.own(&secret)?;
        let mut command = self
            .account
            .command(binaries.bin.join("initdb"), &self.folder);
        command
            .args([
                "--encoding=UTF8",
                "--locale=C",
                "--auth=scram-sha-256",
                "--username",
                USER,
                "--pwfile",
            ])
            .arg(&secret)
            .arg("--pgdata")
            .arg(&aside);
        let output = tokio::process::Command::from(command).output().await;
        std::fs::remove_file(&secret)?;
        let output = output
            .with_context(|| format!("cannot run {}", binaries.bin.join("initdb").display()))?;
        if !output.status.success() {
            let said = last_lines(&String::from_utf8_lossy(&output.stderr));
            return Trouble::new(format!("initdb failed:{said}"))
                .expected(format!("a new cluster in {}", aside.display()))
                .next("free some disk space, or name another folder in WORKSHOP_DATA_DIR; just doctor shows more").err();
        }
        // Ours comes last, so that it wins.
        let main = aside.join("postgresql.conf");
        std::fs::OpenOptions::new()
            .append(true)
            .open(&main)?
            .write_all(b"\ninclude = 'workshop.conf'\n")?;
        std::fs::rename(&aside, self.data())
            .with_context(|| format!("cannot make {}", self.data().display()))?;
        Ok(kept)
    }

    /// A connection to the server, when it runs and is this cluster's and no other that took its port.
    async fn answers(&self, kept: &Kept) -> Option<(PgConnection, Facts)> {
        let url = kept.address().ok()?.maintenance_url();
        let mut connection = connection::connect(&url).await.ok()?;
        let facts = connection::facts(&mut connection).await.ok()?;
        let folder = facts.data_directory.as_ref()?;
        let same = Path::new(folder).canonicalize().ok()? == self.data().canonicalize().ok()?;
        same.then_some((connection, facts))
    }

    /// Finds the server running, waits for one that is just starting or recovering from a crash, or starts it; also one that was
    /// just shutting down.
    pub(crate) async fn start(&self, kept: &mut Kept) -> anyhow::Result<(PgConnection, Facts)> {
        let begin = Instant::now();
        let mut ports = 0;
        let found = wait::within_saying(START_LIMIT, "the database", async || {
            if let Some(found) = self.answers(kept).await {
                return Some(Ok(found));
            }
            if self.running().is_some() {
                return None;
            }
            match self.launch(kept).await {
                Ok(true) => return None,
                Ok(false) => {}
                Err(error) => return Some(Err(error)),
            }
            let log = self.said();
            if log.contains("could not create any TCP/IP sockets") && ports < PORTS {
                ports += 1;
                kept.port = free_port().unwrap_or(kept.port);
            } else if !log.contains("shared memory block") || begin.elapsed() > LINGER {
                return Some(Err(self.trouble()));
            }
            None
        });
        found.await.unwrap_or_else(|| Err(self.trouble()))
    }

    /// Has `pg_ctl` start the server, which lives on when the tool ends; true when it has started.
    async fn launch(&self, kept: &Kept) -> anyhow::Result<bool> {
        // PostgreSQL removes the lock file of a server that was killed, unless another program has the process id by now.
        files::remove(&self.data().join("postmaster.pid"))?;
        // There is none before the first start.
        let _ = std::fs::rename(self.log(), self.folder.join("log.before"));
        self.configure(kept)?;
        let pg_ctl = kept.bin.join("pg_ctl");
        let mut command = self.account.command(&pg_ctl, &self.folder);
        command
            .args(["start", "--silent", "--wait", "--timeout"])
            .arg(START_LIMIT.as_secs().to_string())
            .arg("--pgdata")
            .arg(self.data())
            .arg("--log")
            .arg(self.log())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let status = tokio::process::Command::from(command).status().await;
        let status = status.with_context(|| format!("cannot run {}", pg_ctl.display()))?;
        if status.success() {
            self.keep(kept)?;
        }
        Ok(status.success())
    }

    /// The log of the last start.
    fn said(&self) -> String {
        let log = std::fs::read(self.log()).unwrap_or_default();
        String::from_utf8_lossy(&log).into_owned()
    }

    /// Writes `workshop.conf`, anew at each start.
    fn configure(&self, kept: &Kept) -> anyhow::Result<()> {
        let binaries = Binaries::at(&kept.bin, BinariesFrom::System);
        let mut text =
            String::from("# Written by the workshop's tool at each start; changes are lost.\n");
        let mut set = |name: &str, value: &str| {
            text.push_str(&format!("{name} = '{}'\n", value.replace('\'', "''")))
        };
        set("listen_addresses", "127.0.0.1");
        set("port", &kept.port.to_string());
        set("unix_socket_directories", "");
        for (name, value) in
            configuration::parameters(binaries.is_some_and(|b| b.can_count_statements()))
        {
            set(name, &value);
        }
        let path = self.data().join("workshop.conf");
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        self.account.own(&path)
    }

    /// The id of the server's process, if it runs: a `postmaster.pid` alone proves nothing after a crash.
    pub(crate) fn running(&self) -> Option<Pid> {
        let text = std::fs::read_to_string(self.data().join("postmaster.pid")).ok()?;
        let pid: i32 = text.lines().next()?.trim().parse().ok()?;
        let command = command_line(pid)?;
        let data = self.data();
        (command.contains("postgres") && command.contains(&*data.to_string_lossy()))
            .then(|| Pid::from_raw(pid))
    }

    /// Why the server does not run: the end of its log.
    fn trouble(&self) -> anyhow::Error {
        let (last, data) = (last_lines(&self.said()), self.data());
        Trouble::new(format!(
            "the embedded PostgreSQL does not start; its log ends with{last}"
        ))
        .expected(format!(
            "a server on 127.0.0.1 with its data in {}",
            data.display()
        ))
        .next("just clean removes it and its data; the next command makes a new one")
        .into()
    }
}

/// The command line of a process; `None` when there is no such process.
fn command_line(pid: i32) -> Option<String> {
    let proc = PathBuf::from(format!("/proc/{pid}/cmdline"));
    if Path::new("/proc/self").exists() {
        let bytes = std::fs::read(proc).ok()?;
        return Some(String::from_utf8_lossy(&bytes).replace('\0', " "))
            .filter(|line| !line.trim().is_empty());
    }
    let output = std::process::Command::new("ps")
        .args(["-o", "command=", "-p", &pid.to_string()])
        .output()
        .ok()?;
    output
        .status
        .success()
        .then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Ends a server: as the signal asks for, then harder.
pub(crate) async fn end(pid: Pid, signal: Signal) -> anyhow::Result<()> {
    for (signal, patience) in [(signal, 10), (Signal::SIGKILL, 5)] {
        match kill(pid, signal) {
            Err(Errno::ESRCH) => return Ok(()),
            other => other.with_context(|| format!("cannot end process {pid}"))?,
        }
        let gone = async || command_line(pid.as_raw()).is_none().then_some(());
        if wait::within(Duration::from_secs(patience), gone)
            .await
            .is_some()
        {
            return Ok(());
        }
    }
    Trouble::new(format!("process {pid} does not end"))
        .expected("the embedded PostgreSQL to stop")
        .next(format!("kill -9 {pid}, then just clean again"))
        .err()
}

/// A port that is free now. PostgreSQL knows no port 0, so this is a guess that may lose a race.
fn free_port() -> anyhow::Result<u16> {
    let listener =
        std::net::TcpListener::bind(("127.0.0.1", 0)).context("no port is free on 127.0.0.1")?;
    Ok(listener.local_addr()?.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_id_that_belongs_to_another_program_by_now_is_no_running_server() {
        let folder = tempfile::tempdir().expect("a folder");
        let cluster = Cluster {
            folder: folder.path().to_path_buf(),
            account: Account::pick(),
        };
        std::fs::create_dir(cluster.data()).expect("a folder");
        let lock = cluster.data().join("postmaster.pid");
        std::fs::write(&lock, format!("{}\n", std::process::id())).expect("a file");
        assert_eq!(cluster.running(), None);
    }
}
