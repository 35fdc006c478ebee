//! A PostgreSQL server of our own: its folder with the data, the log and what the tool keeps about it (`server.toml`); made,
//! started, found running and ended.

use std::cmp::Reverse;
use std::fs::{File, TryLockError};
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

use crate::binaries::Binaries;
use crate::connection::{Address, START_LIMIT, USER};
use crate::settings::BinariesFrom;
use crate::{account, configuration, connection, identity};
use workshop_base::outcome::{Trouble, last_lines};
use workshop_base::process::memory_limit;
use workshop_base::{files, program, wait};

/// The file with what the tool keeps about a cluster.
const KEPT: &str = "server.toml";

/// How many other ports are tried: a free one can be taken by somebody else before PostgreSQL has it.
const PORTS: u32 = 4;

/// The file in a cluster's folder that the server's processes keep locked, from the first to the last.
const LOCK: &str = "running.lock";

/// How long the last processes of a killed server may keep the lock.
const LOCKED: Duration = Duration::from_secs(5);

/// How long the processes of a killed server may hold on to its shared memory.
const LINGER: Duration = Duration::from_secs(15);

/// A server's folder, and what the tool keeps about it.
#[derive(Debug)]
pub(crate) struct Cluster {
    folder: PathBuf,
    kept: Kept,
}

#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    /// The port of the last start.
    port: u16,
    /// The password of [`USER`].
    password: String,
    /// The folder of the programs.
    bin: PathBuf,
}

/// The clusters in a home, the one that was started last first.
pub(crate) fn clusters(home: &Path) -> Vec<Cluster> {
    let entries = std::fs::read_dir(home).into_iter().flatten().flatten();
    let mut found: Vec<_> = entries
        .filter_map(|entry| {
            let cluster = Cluster::at(entry.path())?;
            let started = cluster.folder.join(KEPT).metadata().ok()?.modified();
            Some((started.ok()?, cluster))
        })
        .collect();
    found.sort_by_key(|(started, _)| Reverse(*started));
    found.into_iter().map(|(_, cluster)| cluster).collect()
}

impl Cluster {
    /// The cluster in this folder, when it was made to its end.
    pub(crate) fn at(folder: PathBuf) -> Option<Cluster> {
        let text = std::fs::read_to_string(folder.join(KEPT)).ok()?;
        let kept = toml::from_str(&text).ok()?;
        let whole = folder.join("data/PG_VERSION").is_file();
        whole.then_some(Cluster { folder, kept })
    }

    /// True when its programs are still there, and came as this beginning of its folder's name says.
    pub(crate) fn is_of(&self, prefix: &str) -> bool {
        let name = self.folder.file_name().unwrap_or_default();
        name.to_string_lossy().starts_with(prefix) && self.kept.bin.join("postgres").is_file()
    }

    /// The same data with programs that have moved.
    pub(crate) fn with(mut self, binaries: Binaries) -> Cluster {
        self.kept.bin = binaries.bin;
        self
    }

    pub(crate) fn address(&self) -> anyhow::Result<Address> {
        Address::ours("127.0.0.1", self.kept.port, &self.kept.password)
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    fn log(&self) -> PathBuf {
        self.folder.join("log")
    }

    /// Only the user who runs the server can enter its folder.
    fn keep(&self) -> anyhow::Result<()> {
        let text = toml::to_string(&self.kept)?;
        files::write_atomically(&self.folder.join(KEPT), text.as_bytes())
    }

    /// Makes a cluster in this folder with `initdb`: made aside and renamed, so that half a cluster never counts.
    pub(crate) async fn make(folder: PathBuf, binaries: Binaries) -> anyhow::Result<Cluster> {
        let (version, place) = (&binaries.version, folder.display());
        eprintln!("making an embedded PostgreSQL {version} in {place}");
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {place}"))?;
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o700))?;
        account::own(&folder)?;
        let kept = Kept {
            port: free_port()?,
            password: identity::password(),
            bin: binaries.bin,
        };
        let cluster = Cluster { folder, kept };
        let (folder, kept) = (&cluster.folder, &cluster.kept);
        let (aside, secret) = (folder.join("data.new"), folder.join("password.new"));
        files::remove(&aside)?;
        files::remove(&cluster.data())?;
        std::fs::write(&secret, &kept.password)?;
        account::own(&secret)?;
        let initdb = kept.bin.join("initdb");
        let mut command = account::command(&initdb, folder);
        command
            .args(["--encoding=UTF8", "--locale=C", "--auth=scram-sha-256"])
            .args(["--username", USER, "--pwfile"])
            .arg(&secret)
            .arg("--pgdata")
            .arg(&aside);
        let trouble = Trouble::new("initdb failed")
            .expected(format!("a new cluster in {}", aside.display()))
            .next("free some disk space, or name another folder in WORKSHOP_DATA_DIR; just doctor shows more");
        let made = program::said(command, trouble).await;
        std::fs::remove_file(&secret)?;
        made?;
        std::fs::rename(&aside, cluster.data())
            .with_context(|| format!("cannot make {}", cluster.data().display()))?;
        cluster.keep()?;
        Ok(cluster)
    }

    /// A connection to the server, when it runs and is this cluster's and no other that took its port.
    async fn answers(&self) -> Option<PgConnection> {
        let url = self.address().ok()?.maintenance_url();
        let mut connection = connection::connect(&url).await.ok()?;
        let folder: String = sqlx::query_scalar("SHOW data_directory")
            .fetch_one(&mut connection)
            .await
            .ok()?;
        let same = Path::new(&folder).canonicalize().ok()? == self.data().canonicalize().ok()?;
        same.then_some(connection)
    }

    /// Finds the server running, waits for one that is just starting or recovering from a crash, or starts it; also one that was
    /// just shutting down.
    pub(crate) async fn start(&mut self) -> anyhow::Result<PgConnection> {
        let begin = Instant::now();
        let mut ports = 0;
        let found = wait::within_saying(START_LIMIT, "the database", async || {
            if let Some(found) = self.answers().await {
                return Some(Ok(found));
            }
            if self.running().is_some() {
                return None;
            }
            match self.alone() {
                Ok(Some(lock)) => match self.launch(lock).await {
                    Ok(true) => return None,
                    Ok(false) => {}
                    Err(error) => return Some(Err(error)),
                },
                // The last processes of one that was killed, unless it lasts.
                Ok(None) if begin.elapsed() < LOCKED => return None,
                Ok(None) => return Some(self.is_elsewhere().err()),
                Err(error) => return Some(Err(error)),
            }
            let log = self.said();
            if log.contains("could not create any TCP/IP sockets") && ports < PORTS {
                ports += 1;
                self.kept.port = free_port().unwrap_or(self.kept.port);
            } else if !log.contains("shared memory block") || begin.elapsed() > LINGER {
                return Some(Err(self.trouble()));
            }
            None
        });
        found.await.unwrap_or_else(|| Err(self.trouble()))
    }

    /// The lock that the server will hold; `None` where one holds it already. Process ids do not tell: a container and its host that
    /// share a checkout do not see each other's processes, and PostgreSQL itself would start a second server on the same data.
    fn alone(&self) -> anyhow::Result<Option<File>> {
        let path = self.folder.join(LOCK);
        let file =
            File::create(&path).with_context(|| format!("cannot make {}", path.display()))?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => Ok(None),
            // Not every file system has locks.
            Ok(()) | Err(TryLockError::Error(_)) => Ok(Some(file)),
        }
    }

    /// What is wrong when a server that cannot be seen from here holds the lock.
    fn is_elsewhere(&self) -> Trouble {
        Trouble::new("the database of this checkout is run by a container that shares its folder, or by that container's host")
            .expected(format!("one server for the data in {}", self.data().display()))
            .next("work there, or run just clean there; or give this side data of its own: WORKSHOP_DATA_DIR names a folder")
    }

    /// PostgreSQL removes the lock file of a server that was killed, unless another program has the process id by now. Where this lock
    /// is not really held, since the file system has none, that file is all that keeps a second server from the same data.
    fn forget_the_killed(&self, lock: &File) -> anyhow::Result<()> {
        match lock.try_lock() {
            Ok(()) => files::remove(&self.data().join("postmaster.pid")),
            Err(_) => Ok(()),
        }
    }

    /// Has `pg_ctl` start the server, which lives on when the tool ends, and with it the lock; true when it has started.
    async fn launch(&self, lock: File) -> anyhow::Result<bool> {
        self.forget_the_killed(&lock)?;
        // There is none before the first start.
        let _ = std::fs::rename(self.log(), self.folder.join("log.before"));
        let binaries = Binaries::at(&self.kept.bin, BinariesFrom::System);
        let statements = binaries.is_some_and(|binaries| binaries.can_count_statements());
        let settings = configuration::at_port(self.kept.port, memory_limit(), statements);
        let settings: Vec<String> = settings
            .map(|(name, value)| format!("-c {name}='{value}'"))
            .collect();
        // Before the start: where the tool is interrupted in it, the next command looks for the server at its new port.
        self.keep()?;
        let pg_ctl = self.kept.bin.join("pg_ctl");
        // PostgreSQL's processes keep what is open besides the usual three.
        let mut command = account::command("sh", &self.folder);
        command
            .args(["-c", r#"exec "$@" 3<&0 </dev/null"#, "sh"])
            .arg(&pg_ctl)
            .args(["start", "--silent", "--wait", "--timeout"])
            .arg(START_LIMIT.as_secs().to_string())
            .arg("--options")
            .arg(settings.join(" "))
            .arg("--pgdata")
            .arg(self.data())
            .arg("--log")
            .arg(self.log())
            .stdin(lock)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let status = tokio::process::Command::from(command).status().await;
        let status = status.with_context(|| format!("cannot run {}", pg_ctl.display()))?;
        Ok(status.success())
    }

    /// The log of the last start.
    fn said(&self) -> String {
        let log = std::fs::read(self.log()).unwrap_or_default();
        String::from_utf8_lossy(&log).into_owned()
    }

    /// The id of the server's process, if it runs: a `postmaster.pid` alone proves nothing after a crash.
    fn running(&self) -> Option<Pid> {
        let text = std::fs::read_to_string(self.data().join("postmaster.pid")).ok()?;
        let pid: i32 = text.lines().next()?.trim().parse().ok()?;
        let command = command_line(pid)?;
        let data = self.data();
        (command.contains("postgres") && command.contains(&*data.to_string_lossy()))
            .then(|| Pid::from_raw(pid))
    }

    /// Whether the server runs where its processes cannot be seen from here.
    pub(crate) async fn runs_elsewhere(&self) -> anyhow::Result<bool> {
        if self.running().is_some() {
            return Ok(false);
        }
        // The last processes of one that was killed hold the lock for a moment.
        let alone = async || self.alone().transpose();
        let alone = wait::within(LOCKED, alone).await.transpose()?;
        Ok(alone.is_none())
    }

    /// Ends the server, if it runs: at once, since its data go as well, then harder. Gives the process that it was.
    pub(crate) async fn end(&self) -> anyhow::Result<Option<Pid>> {
        let Some(pid) = self.running() else {
            return Ok(None);
        };
        for (signal, patience) in [(Signal::SIGQUIT, 10), (Signal::SIGKILL, 5)] {
            match kill(pid, signal) {
                Err(Errno::ESRCH) => return Ok(Some(pid)),
                other => other.with_context(|| format!("cannot end process {pid}"))?,
            }
            let gone = async || command_line(pid.as_raw()).is_none().then_some(pid);
            let ended = wait::within(Duration::from_secs(patience), gone).await;
            if ended.is_some() {
                return Ok(ended);
            }
        }
        Trouble::new(format!("process {pid} does not end"))
            .expected("the embedded PostgreSQL to stop")
            .next(format!("kill -9 {pid}, then just clean again"))
            .err()
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
        .args(["-ww", "-o", "command=", "-p", &pid.to_string()])
        .output()
        .ok()?;
    output
        .status
        .success()
        .then(|| String::from_utf8_lossy(&output.stdout).into_owned())
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

    /// A cluster whose lock file names this process.
    fn cluster(folder: &Path) -> anyhow::Result<Cluster> {
        let cluster = Cluster {
            folder: folder.to_path_buf(),
            kept: Kept {
                port: 5432,
                password: String::new(),
                bin: PathBuf::new(),
            },
        };
        std::fs::create_dir(cluster.data())?;
        let its_own = cluster.data().join("postmaster.pid");
        std::fs::write(its_own, format!("{}\n", std::process::id()))?;
        Ok(cluster)
    }

    #[test]
    fn a_process_id_that_belongs_to_another_program_by_now_is_no_running_server()
    -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        assert_eq!(cluster(folder.path())?.running(), None);
        Ok(())
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn postgresqls_own_lock_file_goes_only_where_ours_is_really_held() -> anyhow::Result<()> {
        use std::os::unix::fs::OpenOptionsExt;
        let folder = tempfile::tempdir()?;
        let cluster = cluster(folder.path())?;
        let its_own = cluster.data().join("postmaster.pid");
        let path = folder.path().join(LOCK);
        let held = File::create(&path)?;
        // Such a file cannot be locked, as one of some network file systems.
        let flags = nix::fcntl::OFlag::O_PATH.bits();
        let mut options = File::options();
        let no_lock = options.read(true).custom_flags(flags).open(&path)?;
        cluster.forget_the_killed(&no_lock)?;
        assert!(its_own.exists());
        held.lock()?;
        cluster.forget_the_killed(&held)?;
        assert!(!its_own.exists());
        Ok(())
    }
}
