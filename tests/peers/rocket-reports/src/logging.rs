//! The log: one JSON object a line, on standard error. Rocket knows only the crate `log`, which is older than `tracing`; what it
//! says is passed on.

use std::{io, panic};

use log::{Log, Metadata, Record};
use tracing::{error, level_filters::LevelFilter, warn};
use tracing_subscriber::{filter::Targets, fmt, layer::SubscriberExt, util::SubscriberInitExt};

/// Sets up logging. `level` applies only to this service's own lines;
/// its libraries log only warnings and errors.
pub fn start(level: LevelFilter) {
    let heard = Targets::new()
        .with_default(level.min(LevelFilter::WARN))
        .with_target(env!("CARGO_CRATE_NAME"), level);
    let lines = fmt::layer()
        .json()
        .flatten_event(true)
        .with_writer(io::stderr);
    tracing_subscriber::registry()
        .with(heard)
        .with(lines)
        .init();
    // Fails if another logger has already been set.
    if log::set_logger(&RocketLog).is_ok() {
        log::set_max_level(log::LevelFilter::Warn);
    }

    // Logs panics as errors: without this, a panic would be the only line that isn't JSON.
    panic::set_hook(Box::new(|panic| error!("{panic}")));
}

struct RocketLog;

impl Log for RocketLog {
    /// Rocket logs what its guards have refused, URLs and all. The client has been told, and nobody else has to know.
    fn enabled(&self, about: &Metadata<'_>) -> bool {
        about.target() == "rocket::launch"
            || about.level() == log::Level::Error && !about.target().starts_with("rocket::server")
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
