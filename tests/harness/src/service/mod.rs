//! A service under test: started on a free port, awaited, and stopped whatever way the command ends.

mod address;
pub mod collector;
mod command;
pub mod front;
pub mod issuer;
pub mod nginx;
pub mod otlp;
pub(crate) mod port;
pub mod proxy;
mod settings;
pub mod signer;
pub mod sockets;
pub mod stand_in;
mod start_error;
pub mod tail;
pub mod traces;
pub mod upstream;

use std::fs::File;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tempfile::NamedTempFile;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::build::Launch;
use workshop_base::scratch;
use workshop_base::wait;
use workshop_base::workspace::Workspace;

pub use address::free_address;
pub use command::command;
pub(crate) use command::die_with_the_tool;
pub use settings::{PriceSettings, Settings, TelemetrySettings, TokenSettings};
pub use start_error::{NoStart, StartError, port_was_taken};
use start_error::{cannot_start, in_words};

/// How often a port is tried that somebody else took between our choosing and the service's binding.
const PORT_ATTEMPTS: usize = 3;
/// How many of a service's last log lines a message shows.
const LOG_LINES: usize = 12;
/// Between two looks at a service that is left running.
const WATCH: Duration = Duration::from_millis(200);

/// How a service ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stopped {
    /// It ended by itself after SIGTERM.
    Gracefully,
    /// It was still there after the limit and was killed.
    Killed,
    /// It had ended before it was told to.
    Already,
}

/// A running service. Dropping it kills its whole process group.
#[derive(Debug)]
pub struct Service {
    child: Child,
    stop_limit: Duration,
    label: String,
    address: SocketAddr,
    base_url: String,
    /// The processes that clients reach it through.
    before_it: Vec<u32>,
    log: NamedTempFile,
    /// Where the log stood when the test began that runs now.
    log_begins: AtomicU64,
    /// It has ended, and so has everything that it had started.
    gone: bool,
}

impl Service {
    /// Starts the target on a free port of 127.0.0.1 and waits for its first HTTP answer. The error for people
    /// has a [`StartError`] below it where the target runs and does something else.
    pub fn start<'f>(
        workspace: &'f Workspace,
        launch: &'f Launch,
        settings: &'f Settings,
    ) -> BoxFuture<'f, anyhow::Result<Service>> {
        Box::pin(async move {
            let mut attempt = 1;
            loop {
                let address = free_address().map_err(|error| cannot_start(launch, &error))?;
                let started = Service::start_at(workspace, launch, settings, address).await;
                let Err(error) = started else { return started };
                let start = error.downcast_ref::<StartError>();
                if attempt == PORT_ATTEMPTS || !start.is_some_and(StartError::lost_its_port) {
                    return Err(error);
                }
                attempt += 1;
            }
        })
    }

    /// Starts the target on this address and waits for its first HTTP answer, as [`Service::start`] does.
    pub fn start_at<'f>(
        workspace: &'f Workspace,
        launch: &'f Launch,
        settings: &'f Settings,
        address: SocketAddr,
    ) -> BoxFuture<'f, anyhow::Result<Service>> {
        Box::pin(async move {
            let service = Service::spawn(workspace, launch, settings, address);
            let mut service = service.map_err(|error| cannot_start(launch, &error))?;
            let (port, waited) = (address.port(), launch.limits.start);
            let started = Instant::now();
            let why = loop {
                let answer = first_answer(address).await;
                // Whoever answers in place of one that has ended.
                if let Some(status) = service.exited() {
                    break NoStart::Exited(in_words(status));
                }
                // Another command's service may have the port: then ours ends soon, and says so.
                let is_ours = |_: &Vec<u8>| !sockets::is_anothers(port, service.pid());
                match answer.filter(is_ours) {
                    Some(bytes) if bytes.starts_with(b"HTTP/") => return Ok(service),
                    Some(bytes) => {
                        let sent = String::from_utf8_lossy(&bytes).into_owned();
                        break NoStart::NotHttp { port, sent };
                    }
                    None if started.elapsed() > waited => {
                        break NoStart::NeverReady { port, waited };
                    }
                    None => tokio::time::sleep(wait::pause(started)).await,
                }
            };
            let error = StartError {
                label: launch.label.clone(),
                why,
                log: service.log_tail(LOG_LINES),
            };
            let trouble = error.trouble();
            Err(anyhow::Error::new(error).context(trouble))
        })
    }

    /// Spawns the target on this address without waiting for it.
    pub fn spawn(
        workspace: &Workspace,
        launch: &Launch,
        settings: &Settings,
        address: SocketAddr,
    ) -> std::io::Result<Service> {
        let log = scratch::log(workspace, &launch.label)?;
        let mut command = command(launch, settings, address, log.path())?;
        die_with_the_tool(&mut command, Signal::SIGKILL);
        Ok(Service {
            child: command.spawn()?,
            stop_limit: launch.limits.stop,
            label: launch.label.clone(),
            address,
            base_url: format!("http://{address}"),
            before_it: Vec::new(),
            log,
            log_begins: AtomicU64::new(0),
            gone: false,
        })
    }

    /// The address that it was told to listen on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where it answers, without a slash at the end.
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// Its process id, which is its process group's as well.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Its process and those that clients reach it through, its own first.
    pub fn pids(&self) -> Vec<u32> {
        let mut pids = vec![self.pid()];
        pids.extend(&self.before_it);
        pids
    }

    /// From now on clients reach it at another address, through these processes.
    pub fn reach_through(&mut self, address: SocketAddr, before_it: Vec<u32>) {
        self.base_url = format!("http://{address}");
        self.before_it = before_it;
    }

    pub fn label(&self) -> &str {
        &self.label
    }

    /// The file that its output goes to; it is removed with the service.
    pub fn log(&self) -> &Path {
        self.log.path()
    }

    /// Returns when the process has ended by itself.
    pub async fn ended(&mut self) {
        while self.exited().is_none() {
            tokio::time::sleep(WATCH).await;
        }
    }

    /// From now on [`Service::log_tail`] shows nothing older.
    pub fn begin_log(&self) {
        let length = self.log.as_file().metadata().map_or(0, |log| log.len());
        self.log_begins.store(length, Ordering::Relaxed);
    }

    /// The last lines it wrote since [`Service::begin_log`], long ones and stack traces by their beginning.
    pub fn log_tail(&self, lines: usize) -> String {
        let begins = self.log_begins.load(Ordering::Relaxed);
        let end = File::open(self.log.path()).and_then(|log| tail::end(log, begins));
        // A log that cannot be read is shown as an empty one.
        tail::of(&end.unwrap_or_default(), lines)
    }

    /// How it ended, if it did. What it had started ends with it.
    pub fn exited(&mut self) -> Option<ExitStatus> {
        match self.child.try_wait() {
            Ok(status) => {
                if status.is_some() && !self.gone {
                    self.gone = true;
                    let _ = killpg(self.group(), Signal::SIGKILL);
                }
                status
            }
            // It has ended, and somebody else was told how: the kernel, where a parent of the tool has SIGCHLD ignored. Another group
            // may have its id by now.
            Err(_) => {
                self.gone = true;
                Some(ExitStatus::default())
            }
        }
    }

    /// Asks it to stop, by SIGTERM.
    pub fn ask_to_stop(&self) {
        let _ = killpg(self.group(), Signal::SIGTERM);
    }

    /// Asks it to stop, kills it when it does not within the launch's limit.
    pub async fn stop(mut self) -> Stopped {
        if self.exited().is_some() {
            return Stopped::Already;
        }
        self.ask_to_stop();
        let asked = Instant::now();
        while asked.elapsed() < self.stop_limit {
            if self.exited().is_some() {
                return Stopped::Gracefully;
            }
            tokio::time::sleep(wait::pause(asked)).await;
        }
        self.kill();
        Stopped::Killed
    }

    fn group(&self) -> Pid {
        Pid::from_raw(self.child.id().cast_signed())
    }

    /// Ends it at once, as a machine does that runs out of memory.
    pub fn kill(&mut self) {
        let _ = killpg(self.group(), Signal::SIGKILL);
        let _ = self.child.wait();
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        if self.exited().is_none() {
            self.kill();
        }
    }
}

/// The first bytes of an answer to `/health`, asked for by hand: any status will do, and no connection stays behind.
async fn first_answer(address: SocketAddr) -> Option<Vec<u8>> {
    let answer = tokio::time::timeout(Duration::from_secs(2), exchange(address)).await;
    answer.ok()?.ok().filter(|bytes| !bytes.is_empty())
}

async fn exchange(address: SocketAddr) -> std::io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(address).await?;
    let request = format!("GET /health HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut bytes = Vec::new();
    while bytes.len() < "HTTP/".len() && stream.read_buf(&mut bytes).await? > 0 {}
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use workshop_base::process;
    use workshop_base::target::{Language, Target};

    use super::*;

    /// The launch of a service that is a shell script.
    fn script_launch(folder: &Path, text: &str) -> anyhow::Result<Launch> {
        let program = folder.join("service");
        std::fs::write(&program, format!("#!/bin/sh\n{text}\n"))?;
        std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755))?;
        let label = Target::Exercise(2).to_string();
        Ok(Launch::of(Language::Rust, &label, folder, program))
    }

    /// A service that is a shell script.
    fn script(folder: &Path, text: &str) -> anyhow::Result<Service> {
        let launch = script_launch(folder, text)?;
        let settings = Settings::new("postgres://nobody@127.0.0.1:1/none");
        let workspace = Workspace::at(folder);
        Ok(Service::spawn(
            &workspace,
            &launch,
            &settings,
            free_address()?,
        )?)
    }

    async fn has_logged(service: &Service, words: &str) -> Option<()> {
        let logged = async || service.log_tail(9).contains(words).then_some(());
        wait::within(Duration::from_secs(5), logged).await
    }

    #[tokio::test]
    async fn what_a_crashed_service_has_started_ends_with_it() -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let mut service = script(folder.path(), "sleep 60 & echo $! is below; exit 1")?;
        assert!(has_logged(&service, "is below").await.is_some());
        let words = service.log_tail(1);
        let below: u32 = words.split(' ').next().unwrap_or_default().parse()?;
        service.ended().await;
        drop(service);
        let gone = async || process::is_gone(below).then_some(());
        assert!(wait::within(Duration::from_secs(5), gone).await.is_some());
        Ok(())
    }

    #[tokio::test]
    async fn one_that_somebody_else_has_waited_for_is_not_taken_for_running() -> anyhow::Result<()>
    {
        let folder = tempfile::tempdir()?;
        let service = script(folder.path(), "exit 0")?;
        nix::sys::wait::waitpid(Pid::from_raw(service.pid().cast_signed()), None)?;
        assert_eq!(service.stop().await, Stopped::Already);
        Ok(())
    }

    #[tokio::test]
    async fn a_failure_shows_nothing_that_was_logged_before_its_test() -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let service = script(
            folder.path(),
            "echo before; while [ ! -e go ]; do sleep 0.01; done; echo now; sleep 60",
        )?;
        assert!(has_logged(&service, "before").await.is_some());
        service.begin_log();
        std::fs::write(folder.path().join("go"), "")?;
        assert!(has_logged(&service, "now").await.is_some());
        assert_eq!(service.log_tail(9), "now");
        Ok(())
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn the_service_of_another_command_on_the_same_port_is_not_taken_for_it()
    -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let other = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = other.local_addr()?;
        let asked = folder.path().join("asked");
        tokio::spawn(async move {
            while let Ok((mut connection, _)) = other.accept().await {
                let _ = connection.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await;
                let _ = std::fs::write(&asked, "");
            }
        });
        // It ends when the other one has answered in its place.
        let text = "while [ ! -e asked ]; do sleep 0.01; done; echo Address already in use; exit 1";
        let launch = script_launch(folder.path(), text)?;
        let (workspace, settings) = (Workspace::at(folder.path()), Settings::new("none"));
        let started = Service::start_at(&workspace, &launch, &settings, address).await;
        let error = started
            .err()
            .and_then(|error| error.downcast::<StartError>().ok());
        assert!(error.is_some_and(|error| error.lost_its_port()));
        Ok(())
    }
}
