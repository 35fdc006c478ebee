//! Rocket's own log lines. Rocket knows only the crate `log`, which is older than `tracing`.

use log::{LevelFilter, Log, Metadata, Record};
use tracing::{error, warn};

// ANCHOR: rocket-log
/// Takes Rocket's log lines, before Rocket sets up a log of its own.
pub fn listen() {
    // This fails if a logger is set already.
    if log::set_logger(&LogForwarder).is_ok() {
        log::set_max_level(LevelFilter::Warn);
    }
}

/// Forwards what is logged with the crate `log`.
struct LogForwarder;

impl Log for LogForwarder {
    /// Two parts of Rocket write whole URLs into the log, and the query of a URL may hold a key:
    /// these are dropped.
    fn enabled(&self, about: &Metadata<'_>) -> bool {
        let silent = ["rocket::server", "rocket::request"];
        !silent.iter().any(|part| about.target().starts_with(part))
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        match record.level() {
            log::Level::Error => error!(target: "rocket", "{}", record.args()),
            _ => warn!(target: "rocket", "{}", record.args()),
        }
    }

    fn flush(&self) {}
}
// ANCHOR_END: rocket-log
