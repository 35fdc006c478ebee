//! The helper that hyperfine times: spawns a service, returns with its first 200, and leaves it to be stopped later.

use std::fs::File;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, getpgrp};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use workshop_base::process;
use workshop_harness::build::Launch;
use workshop_harness::service::{self, Settings, free_address};
use workshop_measure::protocol::session;
use workshop_measure::tools::first_answer;

/// Between two looks at a process that is to end.
const POLL: Duration = Duration::from_millis(5);
/// How much of a log goes into an error.
const LOG_SHOWN: usize = 2000;

/// What to start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartOrder {
    /// The service.
    pub launch: Launch,
    /// What it is told.
    pub settings: Settings,
    /// The path that must answer 200.
    pub path: String,
    /// Where the helper writes what it [`SeenStart`].
    pub seen: PathBuf,
    /// Where the service's output goes.
    pub log: PathBuf,
}

/// What the helper saw.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SeenStart {
    /// The service's process.
    pub pid: u32,
    /// From spawn to the first 200, by the helper's own clock.
    pub ready_ms: Option<f64>,
    /// CPU time until then.
    pub cpu_ms: Option<f64>,
    /// The most memory that was resident until then.
    pub peak_kb: Option<u64>,
    /// Threads at that moment.
    pub threads: Option<usize>,
    /// Why there was no 200.
    pub trouble: Option<String>,
}

/// Reads an [`StartOrder`], or what was [`SeenStart`].
pub fn read<T: DeserializeOwned>(path: &Path) -> anyhow::Result<T> {
    let text = std::fs::read_to_string(path);
    let text = text.with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_str(&text).with_context(|| format!("{} is malformed", path.display()))
}

/// Writes one of them, for its owner's eyes only: the database's password is in an order.
pub fn write(path: &Path, content: &impl Serialize) -> anyhow::Result<()> {
    let mut options = File::options();
    options.write(true).create(true).truncate(true).mode(0o600);
    let file = options.open(path);
    let file = file.with_context(|| format!("cannot write {}", path.display()))?;
    Ok(serde_json::to_writer(file, content)?)
}

/// Starts the service and returns with its first 200; the service keeps running.
pub fn start(order: &StartOrder) -> anyhow::Result<()> {
    let address = free_address().context("no free port")?;
    let mut command = service::command(&order.launch, &order.settings, address, &order.log)?;
    // In the caller's process group, so that whoever ends the group ends the service with it.
    command.process_group(getpgrp().as_raw());
    let spawned = Instant::now();
    let mut child = command
        .spawn()
        .with_context(|| format!("{} cannot be started", order.launch.label))?;
    let mut seen = SeenStart {
        pid: child.id(),
        ..SeenStart::default()
    };
    write(&order.seen, &seen)?;
    let key = order.settings.api_keys.first().map_or("", String::as_str);
    let header = session::header(key);
    let alive = || child.try_wait().is_ok_and(|ended| ended.is_none());
    let (path, limit) = (&order.path, order.launch.limits.start);
    let ready = first_answer::first_200(address, path, &header, spawned, limit, alive);
    let Some(ready) = ready else {
        let _ = child.kill();
        let _ = child.wait();
        let log = std::fs::read_to_string(&order.log).unwrap_or_default();
        let shown = log.chars().count().saturating_sub(LOG_SHOWN);
        let tail: String = log.chars().skip(shown).collect();
        let trouble = format!(
            "{} did not answer {} with 200; its log ends with\n{tail}",
            order.launch.label, order.path
        );
        seen.trouble = Some(trouble.clone());
        write(&order.seen, &seen)?;
        anyhow::bail!(trouble);
    };
    seen.ready_ms = Some(ready.as_secs_f64() * 1e3);
    seen.cpu_ms = process::cpu(&[seen.pid]).map(|cpu| cpu.as_secs_f64() * 1e3);
    seen.peak_kb = process::peak_kb(seen.pid);
    seen.threads = process::threads(seen.pid);
    write(&order.seen, &seen)
}

/// Stops the service that [`start`] left running: SIGTERM, and SIGKILL when that does not do.
pub fn stop(order: &StartOrder) -> anyhow::Result<()> {
    let pid = Pid::from_raw(read::<SeenStart>(&order.seen)?.pid.cast_signed());
    let asked = Instant::now();
    let mut signal = Some(Signal::SIGTERM);
    while !process::is_gone(pid.as_raw().cast_unsigned()) {
        if let Some(signal) = signal.take()
            && kill(pid, signal) == Err(Errno::ESRCH)
        {
            break;
        }
        if asked.elapsed() > order.launch.limits.stop * 2 {
            anyhow::bail!(
                "{} does not end, not even after SIGKILL",
                order.launch.label
            );
        }
        if asked.elapsed() > order.launch.limits.stop {
            let _ = kill(pid, Signal::SIGKILL);
        }
        std::thread::sleep(POLL);
    }
    Ok(())
}

/// A service that does nothing but answer 200: the floor of every measured start. It runs until it is ended.
pub fn answer() -> anyhow::Result<()> {
    let port: u16 = std::env::var("PORT")
        .ok()
        .and_then(|port| port.parse().ok())
        .context("PORT is not set")?;
    let listener = TcpListener::bind(("127.0.0.1", port))?;
    for stream in listener.incoming() {
        let mut stream = stream?;
        let mut request = [0; 1024];
        // A client that went away is no reason to end.
        let _ = stream.read(&mut request);
        let _ =
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use workshop_base::target::Language;
    use workshop_harness::build::Limits;

    fn order(folder: &Path, script: &str) -> StartOrder {
        StartOrder {
            launch: Launch {
                program: "/bin/sh".into(),
                args: vec!["-c".into(), script.into()],
                env: Vec::new(),
                directory: folder.to_path_buf(),
                label: "a script".to_owned(),
                language: Language::Rust,
                artifact: folder.join("none"),
                parts: Vec::new(),
                calls: None,
                limits: Limits {
                    start: Duration::from_secs(20),
                    stop: Duration::from_secs(5),
                },
                member: "a script".to_owned(),
            },
            settings: Settings::new("postgres://nobody@127.0.0.1:1/none"),
            path: "/ready".to_owned(),
            seen: folder.join("seen.json"),
            log: folder.join("log"),
        }
    }

    #[test]
    fn an_order_reads_as_it_was_written_and_only_its_owner_may_read_it() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("order.json");
        let order = order(folder.path(), "true");
        write(&path, &order).unwrap();
        assert_eq!(read::<StartOrder>(&path).unwrap(), order);
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_service_that_ends_before_it_answers_is_told_with_its_last_words() {
        let folder = tempfile::tempdir().unwrap();
        let order = order(folder.path(), "echo the database is missing; exit 3");
        let error = start(&order).unwrap_err().to_string();
        assert!(error.contains("the database is missing"), "{error}");
        assert_eq!(read::<SeenStart>(&order.seen).unwrap().trouble, Some(error));
        stop(&order).unwrap();
    }

    #[test]
    fn a_process_that_was_left_running_is_stopped() {
        let folder = tempfile::tempdir().unwrap();
        let order = order(folder.path(), "");
        let mut child = std::process::Command::new("sleep")
            .arg("600")
            .spawn()
            .unwrap();
        let seen = SeenStart {
            pid: child.id(),
            ..SeenStart::default()
        };
        write(&order.seen, &seen).unwrap();
        stop(&order).unwrap();
        assert!(!child.wait().unwrap().success());
    }
}
