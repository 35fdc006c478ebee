//! The provider `embedded`: a PostgreSQL server of our own, started from programs on this machine, without Docker.
//!
//! Layout: a *home* (`.workshop/postgres/embedded`, or a folder outside the checkout where that cannot serve) holds one
//! folder a kind and major version of programs (`system-15`, `maven-18`), with the data, the log and what the tool
//! keeps about the server (`server.toml`). The spare server has a folder of its own in the home.

use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

use crate::BinariesFrom;
use crate::Provide;
use crate::Provider;
use crate::Server;
use crate::Settings;
use crate::account::Account;
use crate::binaries::Binaries;
use crate::configuration;
use crate::connection;
use crate::free_port;
use crate::identity::checkout_id;
use crate::identity::hex;
use crate::maven;
use crate::server::Address;
use crate::server::Files;
use workshop_base::outcome::Trouble;
use workshop_base::workspace::Workspace;

/// The superuser of the cluster.
const USER: &str = "workshop";

/// A file of this name marks a home; a folder without it is never removed.
const MARK: &str = "made-by-kotlin-to-rust-workshop";

/// The folder in a home that the spare server is in.
const SPARE: &str = "spare";

/// How often a start is tried: a free port can be taken by somebody else before PostgreSQL has it.
const STARTS: u32 = 5;

/// How long the processes of a killed server may hold on to its shared memory.
const LINGER: Duration = Duration::from_secs(15);

/// The provider.
pub(super) struct Embedded<'a> {
    settings: &'a Settings,
}

/// What the tool keeps about a server that it made.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Kept {
    /// The port of the last start.
    port: u16,
    /// The password of [`USER`].
    password: String,
    /// The folder of the programs.
    bin: PathBuf,
}

/// The spare server: of the same programs, with other data, so that it may be stopped. Dropping it tells it to stop.
#[derive(Debug)]
pub(super) struct Spare {
    cluster: Cluster,
    kept: Kept,
}

/// A server's folder.
#[derive(Debug, Clone)]
struct Cluster {
    folder: PathBuf,
    account: Account,
}

impl<'a> Embedded<'a> {
    /// A provider with these settings.
    pub(super) fn new(settings: &'a Settings) -> Self {
        Embedded { settings }
    }

    /// The home for this checkout, made when it is not there.
    fn home(&self, workspace: &Workspace, account: &Account) -> anyhow::Result<PathBuf> {
        let own_name = format!("kotlin-to-rust-workshop-{}", checkout_id(workspace));
        std::fs::create_dir_all(workspace.state())
            .with_context(|| format!("cannot make {}", workspace.state().display()))?;
        let home = if let Some(folder) = &self.settings.data_dir {
            std::path::absolute(folder)?.join(own_name)
        } else {
            let inside = inside(workspace);
            let entered = workspace
                .state()
                .canonicalize()
                .is_ok_and(|state| account.can_enter(&state));
            if entered {
                inside
            } else {
                Path::new("/var/tmp").join(own_name)
            }
        };
        if home.join(MARK).is_file() && account.owns(&home) {
            return home
                .canonicalize()
                .with_context(|| format!("cannot enter {}", home.display()));
        }
        if let Some(parent) = home.parent() {
            std::fs::create_dir_all(parent)
                .with_context(|| format!("cannot make {}", parent.display()))?;
            if !account.can_enter(parent) {
                return Err(Trouble::new(format!("the user that runs PostgreSQL cannot enter {}", parent.display()))
                    .expected("a folder that every user may pass through, since PostgreSQL does not run as root")
                    .next("name another folder in WORKSHOP_DATA_DIR, or run the tool as a user who is not root")
                    .into());
            }
        }
        match std::fs::DirBuilder::new().mode(0o700).create(&home) {
            Ok(()) => {}
            // Of a first start that was interrupted; nobody else can have put anything into it.
            Err(error)
                if error.kind() == std::io::ErrorKind::AlreadyExists
                    && is_mine_and_empty(&home, account) => {}
            Err(error) => {
                return Err(
                    Trouble::new(format!("cannot make {}: {error}", home.display()))
                        .expected("a new folder, or the one that this user made before")
                        .next("remove it if it is yours; run the tool as the same user as before")
                        .into(),
                );
            }
        }
        std::fs::write(home.join(MARK), format!("{}\n", workspace.root().display()))?;
        account.own(&home)?;
        record(workspace, &home)?;
        home.canonicalize()
            .with_context(|| format!("cannot enter {}", home.display()))
    }

    /// The cluster to use, and what is kept of it: the latest one that fits the settings, else a new one.
    async fn cluster(&self, home: &Path, account: &Account) -> anyhow::Result<(Cluster, Kept)> {
        let wanted = self.settings.binaries.map(prefix);
        let latest = clusters(home, account)
            .into_iter()
            .filter(|cluster| wanted.is_none_or(|prefix| cluster.name().starts_with(prefix)))
            .filter_map(|cluster| cluster.kept().map(|kept| (cluster, kept)))
            .find(|(_, kept)| kept.bin.join("postgres").is_file());
        if let Some(found) = latest {
            return Ok(found);
        }
        let binaries = match (self.settings.binaries, Binaries::system()) {
            (Some(BinariesFrom::System) | None, Some(binaries)) => binaries,
            (Some(BinariesFrom::System), None) => {
                return Err(Trouble::new("PostgreSQL's programs are not on this machine")
                    .expected("postgres, initdb and pg_ctl of version 14 or later")
                    .next("install PostgreSQL with your package manager, or unset WORKSHOP_POSTGRES_BINARIES")
                    .into());
            }
            (Some(BinariesFrom::Maven) | None, _) => {
                let (home, account) = (home.to_path_buf(), account.clone());
                tokio::task::spawn_blocking(move || {
                    let binaries = maven::bring(&home)?;
                    account.own_all(binaries.bin.parent().unwrap_or(&binaries.bin))?;
                    anyhow::Ok(binaries)
                })
                .await??
            }
        };
        let folder = home.join(format!(
            "{}-{}",
            prefix(binaries.from),
            binaries.version.major
        ));
        let cluster = Cluster {
            folder,
            account: account.clone(),
        };
        let kept = match cluster.kept() {
            // The programs moved, the data is theirs all the same.
            Some(kept) => Kept {
                bin: binaries.bin.clone(),
                ..kept
            },
            None => cluster.make(&binaries).await?,
        };
        cluster.keep(&kept)?;
        Ok((cluster, kept))
    }

    /// The spare server, which answers, and what it is.
    ///
    /// # Errors
    /// When it cannot be made or does not start.
    pub(super) async fn spare(&self, workspace: &Workspace) -> anyhow::Result<(Spare, Server)> {
        let account = Account::pick();
        let home = self.home(workspace, &account)?;
        let (main, Kept { bin, .. }) = self.cluster(&home, &account).await?;
        let cluster = Cluster {
            folder: home.join(SPARE).join(main.name()),
            account,
        };
        let mut kept = match cluster.kept() {
            Some(kept) => Kept { bin, ..kept },
            None => {
                let binaries = Binaries::at(&bin, BinariesFrom::System).with_context(|| {
                    format!("PostgreSQL's programs are gone from {}", bin.display())
                })?;
                cluster.make(&binaries).await?
            }
        };
        let (connection, facts) = match cluster.answers(&kept).await {
            Some(found) => found,
            None => cluster.start(&mut kept).await?,
        };
        connection::close(connection).await;
        let server = Server {
            provider: Provider::Embedded,
            checkout: checkout_id(workspace),
            address: kept.address(),
            version: facts.version,
            files: Files::Folder(cluster.data()),
            notes: Vec::new(),
            statements: false,
        };
        Ok((Spare { cluster, kept }, server))
    }
}

impl Spare {
    /// Stops it as an administrator does: sessions are told and ended, and the data is written.
    ///
    /// # Errors
    /// When it does not end.
    pub(super) async fn stop(&self) -> anyhow::Result<()> {
        match self.cluster.running() {
            Some(pid) => end(pid, Signal::SIGINT).await,
            None => Ok(()),
        }
    }

    /// Starts it again, on the port that it had.
    ///
    /// # Errors
    /// When it does not start, or somebody else has taken the port.
    pub(super) async fn start(&self) -> anyhow::Result<()> {
        let mut kept = self.kept.clone();
        let (connection, _) = self.cluster.start(&mut kept).await?;
        connection::close(connection).await;
        if kept.port != self.kept.port {
            return Err(
                Trouble::new("another program has taken the spare server's port")
                    .next("try again")
                    .into(),
            );
        }
        Ok(())
    }
}

impl Drop for Spare {
    fn drop(&mut self) {
        if let Some(pid) = self.cluster.running() {
            let _ = kill(pid, Signal::SIGINT);
        }
    }
}

impl Provide for Embedded<'_> {
    async fn ensure(&self, workspace: &Workspace) -> anyhow::Result<Server> {
        let account = Account::pick();
        let home = self.home(workspace, &account)?;
        let (cluster, mut kept) = self.cluster(&home, &account).await?;
        let (mut connection, facts) = match cluster.answers(&kept).await {
            Some(found) => found,
            None => cluster.start(&mut kept).await?,
        };
        let statements = facts.statements && connection::count_statements(&mut connection).await;
        connection::close(connection).await;
        Ok(Server {
            provider: Provider::Embedded,
            checkout: checkout_id(workspace),
            address: kept.address(),
            version: facts.version,
            files: Files::Folder(cluster.data()),
            notes: Vec::new(),
            statements,
        })
    }

    async fn clean(&self, workspace: &Workspace) -> anyhow::Result<Vec<String>> {
        let mut removed = Vec::new();
        for home in homes(workspace) {
            let account = Account::pick();
            let spare = clusters(&home.join(SPARE), &account);
            for cluster in clusters(&home, &account).into_iter().chain(spare) {
                if let Some(pid) = cluster.running() {
                    // Its data goes as well, so none is written.
                    end(pid, Signal::SIGQUIT).await?;
                    removed.push(format!("the embedded PostgreSQL server (process {pid})"));
                }
            }
            std::fs::remove_dir_all(&home)
                .with_context(|| format!("cannot remove {}", home.display()))?;
            removed.push(format!("its data in {}", home.display()));
        }
        Ok(removed)
    }
}

impl Kept {
    fn address(&self) -> Address {
        Address {
            host: "127.0.0.1".to_owned(),
            port: self.port,
            user: USER.to_owned(),
            password: self.password.clone(),
            maintenance: "postgres".to_owned(),
        }
    }
}

impl Cluster {
    fn name(&self) -> String {
        self.folder
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    fn log(&self) -> PathBuf {
        self.folder.join("log")
    }

    /// What is kept of a cluster that was made to its end.
    fn kept(&self) -> Option<Kept> {
        let text = std::fs::read_to_string(self.folder.join("server.toml")).ok()?;
        self.data()
            .join("PG_VERSION")
            .is_file()
            .then(|| toml::from_str(&text).ok())
            .flatten()
    }

    /// Writes `server.toml`, readable for its owner alone.
    fn keep(&self, kept: &Kept) -> anyhow::Result<()> {
        let path = self.folder.join("server.toml");
        let new = self.folder.join("server.toml.new");
        write_secret(&new, &toml::to_string(kept)?)?;
        std::fs::rename(&new, &path).with_context(|| format!("cannot write {}", path.display()))
    }

    /// Makes the cluster with `initdb`: made aside and renamed, so that half a cluster never counts.
    async fn make(&self, binaries: &Binaries) -> anyhow::Result<Kept> {
        eprintln!(
            "making an embedded PostgreSQL {} in {}",
            binaries.version,
            self.folder.display()
        );
        let aside = self.folder.join("data.new");
        for old in [&aside, &self.data()] {
            match std::fs::remove_dir_all(old) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(error).with_context(|| format!("cannot remove {}", old.display()));
                }
                _ => {}
            }
        }
        std::fs::create_dir_all(&self.folder)
            .with_context(|| format!("cannot make {}", self.folder.display()))?;
        std::fs::set_permissions(&self.folder, std::fs::Permissions::from_mode(0o700))?;
        self.account.own(&self.folder)?;
        let kept = Kept {
            port: free_port()?,
            password: hex(&rand::random::<[u8; 16]>()),
            bin: binaries.bin.clone(),
        };
        let secret = self.folder.join("password.new");
        write_secret(&secret, &kept.password)?;
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
            let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Err(Trouble::new(format!("initdb failed:\n{}", indent(&said)))
                .expected(format!("a new cluster in {}", aside.display()))
                .next("free some disk space, or name another folder in WORKSHOP_DATA_DIR; just doctor shows more")
                .into());
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
    async fn answers(&self, kept: &Kept) -> Option<(sqlx::PgConnection, connection::Facts)> {
        let address = kept.address();
        let mut connection = connection::connect(&address.options(&address.maintenance))
            .await
            .ok()?;
        let facts = connection::facts(&mut connection).await.ok()?;
        let data = facts
            .data_directory
            .as_ref()
            .and_then(|folder| Path::new(folder).canonicalize().ok());
        (data.is_some() && data == self.data().canonicalize().ok()).then_some((connection, facts))
    }

    /// Starts the server, or waits for one that is just starting or recovering from a crash. One that is just shutting
    /// down is gone in the end, and started again.
    async fn start(
        &self,
        kept: &mut Kept,
    ) -> anyhow::Result<(sqlx::PgConnection, connection::Facts)> {
        if self.running().is_some() {
            let offset = std::fs::metadata(self.log()).map_or(0, |metadata| metadata.len());
            match self.wait(kept, offset).await {
                Err(_) if self.running().is_none() => {}
                result => return result,
            }
        }
        let offset = self.launch(kept).await?;
        self.wait(kept, offset).await
    }

    /// Waits until the server answers. Its log from `offset` on says why when it does not.
    async fn wait(
        &self,
        kept: &Kept,
        offset: u64,
    ) -> anyhow::Result<(sqlx::PgConnection, connection::Facts)> {
        let address = kept.address();
        let mut connection =
            connection::wait_until_it_answers(&address.options(&address.maintenance), async || {
                if self.running().is_some() {
                    Ok(())
                } else {
                    Err(self.trouble(offset))
                }
            })
            .await?;
        let facts = connection::facts(&mut connection).await?;
        Ok((connection, facts))
    }

    /// Has `pg_ctl` start the server; it lives on when the tool ends. Gives the length of the log before.
    async fn launch(&self, kept: &mut Kept) -> anyhow::Result<u64> {
        let since = Instant::now();
        let mut tries = 1;
        loop {
            self.drop_stale_lock()?;
            self.configure(kept)?;
            let offset = std::fs::metadata(self.log()).map_or(0, |metadata| metadata.len());
            let mut command = self.account.command(kept.bin.join("pg_ctl"), &self.folder);
            command
                .args(["start", "--silent", "--wait", "--timeout"])
                .arg(connection::START_LIMIT.as_secs().to_string())
                .arg("--pgdata")
                .arg(self.data())
                .arg("--log")
                .arg(self.log())
                .stdin(std::process::Stdio::null())
                .stdout(std::process::Stdio::null())
                .stderr(std::process::Stdio::null());
            let status = tokio::process::Command::from(command)
                .status()
                .await
                .with_context(|| format!("cannot run {}", kept.bin.join("pg_ctl").display()))?;
            if status.success() {
                self.keep(kept)?;
                return Ok(offset);
            }
            let log = log_since(&self.log(), offset);
            if log.contains("shared memory block") && since.elapsed() < LINGER {
                tokio::time::sleep(Duration::from_millis(200)).await;
            } else if log.contains("could not create any TCP/IP sockets") && tries < STARTS {
                tries += 1;
                kept.port = free_port()?;
            } else {
                return Err(self.trouble(offset));
            }
        }
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
    fn running(&self) -> Option<Pid> {
        let text = std::fs::read_to_string(self.data().join("postmaster.pid")).ok()?;
        let pid: i32 = text.lines().next()?.trim().parse().ok()?;
        let command = command_line(pid)?;
        let data = self.data();
        (command.contains("postgres") && command.contains(&*data.to_string_lossy()))
            .then(|| Pid::from_raw(pid))
    }

    /// Removes the lock file of a server that was killed. PostgreSQL does so itself, unless another program has the
    /// process id by now; then it refuses to start.
    fn drop_stale_lock(&self) -> anyhow::Result<()> {
        if self.running().is_none() {
            match std::fs::remove_file(self.data().join("postmaster.pid")) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(error.into());
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Why the server does not run: the end of its log.
    fn trouble(&self, offset: u64) -> anyhow::Error {
        let log = log_since(&self.log(), offset);
        let lines: Vec<&str> = log.lines().collect();
        let last = lines[lines.len().saturating_sub(12)..].join("\n");
        Trouble::new(format!(
            "the embedded PostgreSQL does not start; its last words:\n{}",
            indent(&last)
        ))
        .expected(format!(
            "a server on 127.0.0.1 with its data in {}",
            self.data().display()
        ))
        .next("just clean removes it and its data; the next command makes a new one")
        .into()
    }
}

/// The home inside the checkout.
fn inside(workspace: &Workspace) -> PathBuf {
    workspace.state().join("postgres/embedded")
}

/// Where the homes are listed, one a line.
fn list(workspace: &Workspace) -> PathBuf {
    workspace.state().join("postgres/homes")
}

/// Adds a home to the list, so that `just clean` finds it when the settings are other ones by then.
fn record(workspace: &Workspace, home: &Path) -> anyhow::Result<()> {
    let path = list(workspace);
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let known = std::fs::read_to_string(&path).unwrap_or_default();
    if !known.lines().any(|line| Path::new(line) == home) {
        std::fs::write(&path, format!("{known}{}\n", home.display()))
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// The homes of this checkout that are there. Folders without the mark are not ours and left alone.
pub(super) fn homes(workspace: &Workspace) -> Vec<PathBuf> {
    let outside = Path::new("/var/tmp").join(format!(
        "kotlin-to-rust-workshop-{}",
        checkout_id(workspace)
    ));
    let mut homes = vec![inside(workspace), outside];
    let known = std::fs::read_to_string(list(workspace)).unwrap_or_default();
    homes.extend(known.lines().map(PathBuf::from));
    homes.retain(|home| home.join(MARK).is_file());
    let mut homes: Vec<_> = homes
        .iter()
        .filter_map(|home| home.canonicalize().ok())
        .collect();
    homes.sort();
    homes.dedup();
    homes
}

/// The clusters in a home, the one that was started last first.
fn clusters(home: &Path, account: &Account) -> Vec<Cluster> {
    let Ok(entries) = std::fs::read_dir(home) else {
        return Vec::new();
    };
    let mut folders: Vec<_> = entries
        .flatten()
        .filter_map(|entry| {
            let changed = entry
                .path()
                .join("server.toml")
                .metadata()
                .and_then(|metadata| metadata.modified())
                .ok()?;
            Some((changed, entry.path()))
        })
        .collect();
    folders.sort();
    folders
        .into_iter()
        .rev()
        .map(|(_, folder)| Cluster {
            folder,
            account: account.clone(),
        })
        .collect()
}

fn prefix(from: BinariesFrom) -> &'static str {
    match from {
        BinariesFrom::System => "system",
        BinariesFrom::Maven => "maven",
    }
}

fn is_mine_and_empty(folder: &Path, account: &Account) -> bool {
    let real = folder
        .symlink_metadata()
        .is_ok_and(|metadata| metadata.is_dir());
    let mine = account.owns(folder)
        || folder.symlink_metadata().is_ok_and(|metadata| {
            std::os::unix::fs::MetadataExt::uid(&metadata) == nix::unistd::Uid::effective().as_raw()
        });
    let empty = std::fs::read_dir(folder)
        .is_ok_and(|entries| entries.flatten().all(|entry| entry.file_name() == MARK));
    real && mine && empty
}

fn write_secret(path: &Path, text: &str) -> anyhow::Result<()> {
    std::fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .with_context(|| format!("cannot write {}", path.display()))
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
async fn end(pid: Pid, signal: Signal) -> anyhow::Result<()> {
    for (signal, patience) in [(signal, 10), (Signal::SIGKILL, 5)] {
        match kill(pid, signal) {
            Err(Errno::ESRCH) => return Ok(()),
            other => other.with_context(|| format!("cannot end process {pid}"))?,
        }
        let since = Instant::now();
        while since.elapsed() < Duration::from_secs(patience) {
            if command_line(pid.as_raw()).is_none() {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
    Err(Trouble::new(format!("process {pid} does not end"))
        .expected("the embedded PostgreSQL to stop")
        .next(format!("kill -9 {pid}, then just clean again"))
        .into())
}

fn log_since(path: &Path, offset: u64) -> String {
    let bytes = std::fs::read(path).unwrap_or_default();
    let from = usize::try_from(offset).unwrap_or(0).min(bytes.len());
    String::from_utf8_lossy(&bytes[from..]).into_owned()
}

fn indent(text: &str) -> String {
    text.lines()
        .map(|line| format!("  | {line}"))
        .collect::<Vec<_>>()
        .join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_without_our_mark_is_never_a_home_of_ours() {
        let checkout = tempfile::tempdir().expect("a folder");
        let foreign = tempfile::tempdir().expect("a folder");
        let workspace = Workspace::at(checkout.path());
        record(&workspace, foreign.path()).expect("a list");
        assert_eq!(homes(&workspace), Vec::<PathBuf>::new());
        std::fs::write(foreign.path().join(MARK), "").expect("a file");
        assert_eq!(homes(&workspace), vec![foreign.path().to_path_buf()]);
    }

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
        cluster.drop_stale_lock().expect("the file to go");
        assert!(!lock.exists());
    }
}
