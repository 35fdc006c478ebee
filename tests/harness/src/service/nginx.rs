//! nginx in front of services, in a folder of its own, on a free port: of two with the configuration of exercise 20, of one with that
//! of exercise 8.

use std::fs::{self, Permissions};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context;
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use tempfile::TempDir;
use tokio::net::TcpStream;
use workshop_base::outcome::Trouble;
use workshop_base::{files, scratch, wait};

use super::{die_with_the_tool, free_address};
use crate::build::nginx;
use workshop_requests::failure::{Failure, TestError};
use workshop_requests::http::Client;

pub use crate::build::nginx::FOLDER;

/// The stage that a run begins with.
pub const FIRST_STAGE: &str = "off";
/// The file with the configuration of exercise 8, and the addresses in it: where nginx listens, and where the service does.
pub const FILE: &str = "nginx.conf";
const LISTENS: &str = "127.0.0.1:8000";
const SERVICE: &str = "127.0.0.1:8080";
/// How often a port is tried that somebody else took between our choosing and nginx's binding.
const PORT_ATTEMPTS: usize = 3;
/// The longest that nginx may take to start, to take over a stage, and to stop.
const LIMIT: Duration = Duration::from_secs(10);
/// Between two looks at something that cannot be awaited.
const POLL: Duration = Duration::from_millis(2);

/// A running nginx. Dropping it ends it, its workers and its folder.
#[derive(Debug)]
pub struct Nginx {
    program: PathBuf,
    folder: TempDir,
    address: SocketAddr,
    master: Child,
}

impl Nginx {
    /// Starts nginx with the configuration in this folder, at its first stage, in front of two services.
    pub async fn start(
        configuration: &Path,
        kotlin: SocketAddr,
        rust: SocketAddr,
    ) -> Result<Nginx, TestError> {
        let program = nginx::needed().await.map_err(anyhow::Error::new)?.path;
        Nginx::run(program, |address| {
            laid_out(configuration, [address, kotlin, rust])
        })
        .await
    }

    /// Starts this nginx with the configuration in this file, in front of one service.
    pub async fn before(
        program: PathBuf,
        configuration: &Path,
        service: SocketAddr,
    ) -> Result<Nginx, TestError> {
        let text = fs::read_to_string(configuration)
            .with_context(|| format!("cannot read {}", configuration.display()))?;
        Nginx::run(program, |address| {
            let folder = open_folder()?;
            let text = text
                .replace(LISTENS, &address.to_string())
                .replace(SERVICE, &service.to_string());
            files::write_atomically(&folder.path().join(FILE), text.as_bytes())?;
            Ok(folder)
        })
        .await
    }

    async fn run(
        program: PathBuf,
        lay_out: impl Fn(SocketAddr) -> anyhow::Result<TempDir>,
    ) -> Result<Nginx, TestError> {
        let mut attempt = 1;
        loop {
            let address = free_address().context("there is no free port")?;
            let folder = lay_out(address)?;
            accepts(&program, folder.path(), FIRST_STAGE)?;
            let master = spawn(&program, folder.path())?;
            let mut nginx = Nginx {
                program: program.clone(),
                folder,
                address,
                master,
            };
            match nginx.listens().await {
                Err(log) if attempt < PORT_ATTEMPTS && log.contains("in use") => attempt += 1,
                Err(log) => {
                    let trouble = Trouble::new(format!("nginx does not start; its log:\n{log}"))
                        .expected(format!("nginx on {address}"))
                        .next("run the check again; just doctor if it happens again");
                    return Err(TestError::CouldNotJudge(trouble.into()));
                }
                Ok(()) => return Ok(nginx),
            }
        }
    }

    /// Waits until somebody can connect; what nginx has logged when it ended instead.
    async fn listens(&mut self) -> Result<(), String> {
        let listens = wait::within(LIMIT, async || {
            let ended = self.master.try_wait().is_ok_and(|status| status.is_some());
            let works = self.logged("start worker process ") > 0;
            let listens = works && TcpStream::connect(self.address).await.is_ok();
            (ended || listens).then_some(listens)
        });
        if listens.await == Some(true) {
            return Ok(());
        }
        Err(self.error_log())
    }

    /// Where clients find it.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The folder that it was started with, and writes to.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The process id of its master, the parent of its workers.
    pub fn pid(&self) -> u32 {
        self.master.id()
    }

    /// Sends requests to it, without a key.
    pub fn client(&self) -> anyhow::Result<Client> {
        Client::new(&format!("http://{}", self.address), None)
    }

    /// Puts the stage in place, has nginx look at it, and reload. Returns how long it took until no worker accepts connections
    /// that does not know the stage.
    pub async fn switch(&self, stage: &str) -> Result<Duration, TestError> {
        let asked = Instant::now();
        put(self.folder.path(), stage)?;
        accepts(&self.program, self.folder.path(), stage)?;
        let old_workers = self.logged("start worker process ");
        run(&self.program, self.folder.path(), &["-s", "reload"])?;
        // Those that accept no more connections; they end with the last of their requests.
        let left = async || {
            let leaving = self.logged("gracefully shutting down");
            (leaving >= old_workers).then(|| asked.elapsed())
        };
        let took = wait::within(LIMIT, left).await;
        let expected = || format!("nginx to take over the stage {stage}");
        Ok(took.ok_or_else(|| Failure::new(expected(), self.error_log()))?)
    }

    /// How many requests a service has answered so far, by the log.
    pub fn served_by(&self, service: &str) -> usize {
        let served_by = format!(r#""served_by":"{service}""#);
        self.log("access.log").matches(&served_by).count()
    }

    fn logged(&self, words: &str) -> usize {
        self.error_log().matches(words).count()
    }

    fn error_log(&self) -> String {
        self.log("error.log")
    }

    fn log(&self, name: &str) -> String {
        let log = fs::read(self.folder.path().join(name)).unwrap_or_default();
        String::from_utf8_lossy(&log).into_owned()
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let master = Pid::from_raw(self.master.id().cast_signed());
        let _ = kill(master, Signal::SIGTERM);
        let asked = Instant::now();
        while self.master.try_wait().is_ok_and(|status| status.is_none()) {
            if asked.elapsed() > LIMIT {
                let _ = killpg(master, Signal::SIGKILL);
                let _ = self.master.wait();
                return;
            }
            std::thread::sleep(POLL);
        }
    }
}

/// A folder that nginx can write to.
fn open_folder() -> anyhow::Result<TempDir> {
    let folder = scratch::folder()?;
    // Started by root, nginx gives its workers another user.
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755))?;
    Ok(folder)
}

/// A folder for one nginx: the configuration, and one line each on where nginx and the services listen.
fn laid_out(configuration: &Path, addresses: [SocketAddr; 3]) -> anyhow::Result<TempDir> {
    let folder = open_folder()?;
    for (path, bytes) in files::read_tree(configuration)? {
        files::write_atomically(&folder.path().join(path), &bytes)?;
    }
    let lines = [
        ("listen", "listen"),
        ("kotlin", "server"),
        ("rust", "server"),
    ];
    for ((name, word), address) in lines.into_iter().zip(addresses) {
        let path = folder.path().join(format!("address/{name}.conf"));
        files::write_atomically(&path, format!("{word} {address};\n").as_bytes())?;
    }
    put(folder.path(), FIRST_STAGE)?;
    Ok(folder)
}

/// Makes a stage the one that nginx reads next, where there are stages.
fn put(folder: &Path, stage: &str) -> anyhow::Result<()> {
    let stages = folder.join("stages");
    if !stages.is_dir() {
        return Ok(());
    }
    let stage = stages.join(format!("{stage}.conf"));
    let bytes = fs::read(&stage).with_context(|| format!("cannot read {}", stage.display()))?;
    files::write_atomically(&folder.join("stage.conf"), &bytes)
}

/// Has nginx look at the configuration before it has to run with it.
fn accepts(program: &Path, folder: &Path, stage: &str) -> Result<(), TestError> {
    let output = run(program, folder, &["-t"])?;
    if output.status.success() {
        return Ok(());
    }
    let here = format!("{}/", folder.display());
    let words = String::from_utf8_lossy(&output.stderr);
    let words = words
        .replace(
            &format!("{here}stage.conf"),
            &format!("{FOLDER}/stages/{stage}.conf"),
        )
        .replace(&here, &format!("{FOLDER}/"));
    let complaints = words.lines().filter(|line| line.contains("[emerg]"));
    let complaints: Vec<&str> = complaints.collect();
    let expected = format!("a configuration that nginx -t accepts, at the stage {stage}");
    Err(Failure::new(expected, complaints.join("; ")).into())
}

fn run(program: &Path, folder: &Path, args: &[&str]) -> anyhow::Result<Output> {
    let mut command = command(program, folder);
    command.args(args).output().context("nginx cannot be run")
}

fn spawn(program: &Path, folder: &Path) -> anyhow::Result<Child> {
    let mut command = command(program, folder);
    command
        .args(["-g", "daemon off;"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0);
    // Its master ends the workers when it is asked to; killed, it could not.
    die_with_the_tool(&mut command, Signal::SIGTERM);
    command.spawn().context("nginx cannot be run")
}

fn command(program: &Path, folder: &Path) -> Command {
    let mut command = Command::new(program);
    command
        .arg("-p")
        .arg(folder)
        .args(["-c", "nginx.conf", "-e", "error.log"])
        .stdin(Stdio::null());
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The folders of the references.
    fn references() -> anyhow::Result<Vec<PathBuf>> {
        let solutions = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../solutions");
        let references = fs::read_dir(solutions)?;
        Ok(references
            .map(|entry| entry.map(|entry| entry.path()))
            .collect::<Result<_, _>>()?)
    }

    #[tokio::test]
    async fn nginx_accepts_the_configurations_of_all_references() -> anyhow::Result<()> {
        let Ok(nginx) = nginx::needed().await else {
            eprintln!("not judged here: there is no nginx");
            return Ok(());
        };
        let address = free_address()?;
        for reference in references()? {
            let single = reference.join(FILE);
            if single.is_file() {
                let folder = open_folder()?;
                fs::copy(&single, folder.path().join(FILE))?;
                let accepted = accepts(&nginx.path, folder.path(), FIRST_STAGE);
                assert!(accepted.is_ok(), "{}: {accepted:?}", single.display());
            }
            let configuration = reference.join(FOLDER);
            if configuration.is_dir() {
                let folder = laid_out(&configuration, [address; 3])?;
                let accepted = accepts(&nginx.path, folder.path(), FIRST_STAGE);
                assert!(
                    accepted.is_ok(),
                    "{}: {accepted:?}",
                    configuration.display()
                );
            }
        }
        Ok(())
    }
}
