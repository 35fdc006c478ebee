//! Why a service did not start, for people.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use crate::build::Launch;
use workshop_base::outcome::{Trouble, last_lines};

/// Why a service could not be judged: it never got to its first answer.
#[derive(Debug, thiserror::Error)]
#[error("{label} {why}")]
pub struct StartError {
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
        port: u16,
        /// The first bytes that came.
        sent: String,
    },
}

impl StartError {
    /// Whether another process took its port first.
    pub fn lost_its_port(&self) -> bool {
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

/// True when a log says that the port belongs to another process.
pub fn port_was_taken(log: &str) -> bool {
    let log = log.to_lowercase();
    log.contains("address already in use") || log.contains("address in use")
}

/// The error for people of a program that the system does not start.
pub fn cannot_start(launch: &Launch, error: &std::io::Error) -> Trouble {
    Trouble::new(format!("{} cannot be started: {error}", launch.label)).next("just doctor")
}

/// How a process ended, for people.
pub fn in_words(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "no exit code".to_owned(),
    }
}
