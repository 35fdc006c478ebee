//! Forwards Rocket's log lines to `tracing`: Rocket itself supports only the older crate `log`.

use log::{LevelFilter, Log, Metadata, Record};
use tracing::{error, warn};

// ANCHOR: rocket-log
/// Receives Rocket's log lines. Must run before Rocket sets up its own logger.
pub fn listen() {
    // Fails if another logger has already been set.
    if log::set_logger(&LogForwarder).is_ok() {
        log::set_max_level(LevelFilter::Warn);
    }
}

/// Forwards records of the crate `log` to `tracing`.
struct LogForwarder;

impl Log for LogForwarder {
    /// Drops the lines from two of Rocket's modules, because they contain whole URLs, and the query
    /// of a URL can contain a key.
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
