//! A service under test: started on a free port, awaited, and stopped whatever way the command ends.

pub mod front;
pub mod nginx;
mod port;
pub mod proxy;
pub mod sockets;
pub mod stand_in;
pub mod tail;
pub mod upstream;

use std::collections::VecDeque;
use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::{Pid, getpid, getppid};
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::build::Launch;
use workshop_base::environment;
use workshop_base::outcome::{Trouble, last_lines};
use workshop_base::scratch;
use workshop_base::wait;
use workshop_base::workspace::Workspace;

/// How often a port is tried that somebody else took between our choosing and the service's binding.
const PORT_ATTEMPTS: usize = 3;
/// How many of a service's last log lines a message shows.
const LOG_LINES: usize = 12;
/// Between two looks at a service that is left running.
const WATCH: Duration = Duration::from_millis(200);

/// What a service reads from its environment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// `DATABASE_URL`.
    pub database_url: String,
    /// `DATABASE_POOL_SIZE`.
    pub pool_size: u16,
    /// `DATABASE_TIMEOUT_MS`: the longest that a request waits for a connection.
    pub timeout: Duration,
    /// `MIGRATION_TIMEOUT_MS`: the longest that an attempt to migrate may take.
    pub migration_timeout: Duration,
    /// `EXPORT_TIMEOUT_MS`: the longest that an export waits for its client.
    pub export_timeout: Duration,
    /// `API_KEYS`.
    pub api_keys: Vec<String>,
    /// `LOG_LEVEL`.
    pub log_level: String,
    /// The service of prices; none for a service that has no `/price`.
    pub prices: Option<PriceSettings>,
    /// `PEER_QUEUE`: the most messages that wait for a peer.
    pub peer_queue: u32,
    /// `PEER_PING_MS`: how often a peer is asked whether it is still there.
    pub peer_ping: Duration,
    /// `CONTACTS_USERS`, of a service that has address books.
    pub contacts_users: String,
}

/// Two users with their passwords. Services without address books know nothing of them.
const CONTACTS_USERS: &str = "ada:secret,grace:secret2";

/// What a service is told about the service of prices.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PriceSettings {
    /// `UPSTREAM_URL`.
    pub url: String,
    /// `UPSTREAM_LIMIT`: the most calls that are under way at a time.
    pub limit: u16,
    /// `UPSTREAM_WAIT_MS`: the longest that a request waits for its turn.
    pub wait: Duration,
    /// `UPSTREAM_TIMEOUT_MS`: the longest that a call may take.
    pub timeout: Duration,
    /// `PRICE_DEADLINE_MS`: the longest that a request with a price may take as a whole.
    pub deadline: Duration,
}

impl PriceSettings {
    /// The documented defaults, with this service of prices.
    pub fn new(url: impl Into<String>) -> Self {
        PriceSettings {
            url: url.into(),
            limit: 64,
            wait: Duration::from_millis(250),
            timeout: Duration::from_secs(1),
            deadline: Duration::from_millis(1500),
        }
    }
}

impl Settings {
    /// The documented defaults, with this database.
    pub fn new(database_url: impl Into<String>) -> Self {
        Settings {
            database_url: database_url.into(),
            pool_size: 10,
            timeout: Duration::from_secs(1),
            migration_timeout: Duration::from_mins(10),
            export_timeout: Duration::from_secs(10),
            api_keys: vec!["valid_key".to_owned()],
            log_level: "warn".to_owned(),
            prices: None,
            peer_queue: 256,
            peer_ping: Duration::from_secs(20),
            contacts_users: CONTACTS_USERS.to_owned(),
        }
    }

    /// The settings as environment variables, for a service on this address.
    pub fn environment(&self, address: SocketAddr) -> Vec<(String, String)> {
        let milliseconds = |duration: Duration| duration.as_millis().to_string();
        let mut all = vec![
            ("ADDRESS", address.ip().to_string()),
            ("PORT", address.port().to_string()),
            ("DATABASE_URL", self.database_url.clone()),
            ("DATABASE_POOL_SIZE", self.pool_size.to_string()),
            ("DATABASE_TIMEOUT_MS", milliseconds(self.timeout)),
            ("MIGRATION_TIMEOUT_MS", milliseconds(self.migration_timeout)),
            ("EXPORT_TIMEOUT_MS", milliseconds(self.export_timeout)),
            ("API_KEYS", self.api_keys.join(",")),
            ("LOG_LEVEL", self.log_level.clone()),
            ("PEER_QUEUE", self.peer_queue.to_string()),
            ("PEER_PING_MS", milliseconds(self.peer_ping)),
            ("CONTACTS_USERS", self.contacts_users.clone()),
        ];
        if let Some(prices) = &self.prices {
            all.extend([
                ("UPSTREAM_URL", prices.url.clone()),
                ("UPSTREAM_LIMIT", prices.limit.to_string()),
                ("UPSTREAM_WAIT_MS", milliseconds(prices.wait)),
                ("UPSTREAM_TIMEOUT_MS", milliseconds(prices.timeout)),
                ("PRICE_DEADLINE_MS", milliseconds(prices.deadline)),
            ]);
        }
        let all = all.into_iter();
        all.map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

/// Why a service could not be judged: it never got to its first answer.
#[derive(Debug, thiserror::Error)]
#[error("{label} {why}")]
pub struct StartError {
    /// The target.
    pub label: String,
    /// What it did instead.
    pub why: NoStart,
    /// Its last log lines.
    pub log: String,
}

/// What a service does that does not start.
#[derive(Debug, thiserror::Error)]
pub enum NoStart {
    /// The process ended before it answered.
    #[error("exited at start ({0}) before it answered")]
    Exited(String),
    /// The process runs, but nothing answers on the port it was given.
    #[error("did not answer on port {port} within {} s", .waited.as_secs())]
    NeverReady {
        /// The port that it was told to listen on.
        port: u16,
        /// How long it was waited for.
        waited: Duration,
    },
    /// Something answers, but it is not HTTP.
    #[error("answers on port {port}, but not with HTTP: it sent {sent:?}")]
    NotHttp {
        /// The port.
        port: u16,
        /// The first bytes that came.
        sent: String,
    },
}

impl StartError {
    fn lost_its_port(&self) -> bool {
        matches!(self.why, NoStart::Exited(_)) && port_was_taken(&self.log)
    }

    /// The error for people: with the log's last lines and what to do next.
    pub fn trouble(&self) -> Trouble {
        let alone = format!("just run {} starts it alone", self.label);
        let with_log = || {
            let log = match self.log.trim() {
                "" => "\n  (it wrote nothing to its log)".to_owned(),
                log => last_lines(log),
            };
            Trouble::new(format!("{self}{log}"))
        };
        match self.why {
            NoStart::Exited(_) => with_log()
                .expected("a process that keeps running and answers GET /health")
                .next(format!("read the lines above; {alone}")),
            NoStart::NeverReady { .. } => with_log()
                .expected("an answer to GET /health on the address and port that ADDRESS and PORT name")
                .next(format!(
                    "does it read PORT from the environment? {alone}; on a slow machine: WORKSHOP_START_LIMIT=300 (seconds)"
                )),
            NoStart::NotHttp { .. } => Trouble::new(self.to_string())
                .expected("an HTTP/1.1 status line")
                .next(alone),
        }
    }
}

fn cannot_start(launch: &Launch, error: &std::io::Error) -> Trouble {
    Trouble::new(format!("{} cannot be started: {error}", launch.label)).next("just doctor")
}

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

    /// The target's name.
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

/// A port that was free a moment ago, and that nobody else in this process has been given lately: a service that is slow to
/// listen would find another one's there, and be taken for it.
pub fn free_address() -> std::io::Result<SocketAddr> {
    const REMEMBERED: usize = 1000;
    static GIVEN: Mutex<VecDeque<SocketAddr>> = Mutex::new(VecDeque::new());
    let mut given = GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        let address = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?;
        if given.contains(&address) {
            continue;
        }
        given.push_back(address);
        if given.len() > REMEMBERED {
            given.pop_front();
        }
        return Ok(address);
    }
}

/// True when a log says that the port belongs to another process.
pub fn port_was_taken(log: &str) -> bool {
    let log = log.to_lowercase();
    log.contains("address already in use") || log.contains("address in use")
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

fn in_words(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "no exit code".to_owned(),
    }
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

    #[test]
    fn no_address_is_given_twice_in_a_row() {
        // Among so many, the system alone would give one of 28 000 twice nearly always.
        let mut given: Vec<SocketAddr> = (0..900).map(|_| free_address().unwrap()).collect();
        given.sort_unstable();
        given.dedup();
        assert_eq!(given.len(), 900);
    }
}
