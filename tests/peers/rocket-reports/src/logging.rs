//! Logging to standard error, with one JSON object per line. Rocket logs with the `log`
//! crate, which predates `tracing`; Rocket's messages are forwarded to `tracing`.

use std::{io, panic};

use log::{Log, Metadata, Record};
use tracing::{error, level_filters::LevelFilter, warn};
use tracing_subscriber::{filter::Targets, fmt, layer::SubscriberExt, util::SubscriberInitExt};

/// Sets up logging. `level` applies only to this service's own log lines;
/// libraries log only warnings and errors.
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

    // Logs panics as errors: otherwise, a panic message would be the only line that isn't JSON.
    panic::set_hook(Box::new(|panic| error!("{panic}")));
}

struct RocketLog;

impl Log for RocketLog {
    /// Excludes refusals by guards: Rocket logs their URLs, and only the client needs to know.
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
