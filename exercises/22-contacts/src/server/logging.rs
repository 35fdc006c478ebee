//! Logging to standard error, with one JSON object per line.

use std::{io, panic};

use tracing::{error, level_filters::LevelFilter};
use tracing_subscriber::{filter::Targets, fmt, layer::SubscriberExt, util::SubscriberInitExt};

// ANCHOR: logging
/// Sets up logging. `level` applies only to this service's own log lines;
/// libraries log only warnings and errors.
pub fn start(level: LevelFilter) {
    let heard = Targets::new()
        .with_default(LevelFilter::WARN)
        .with_target(env!("CARGO_CRATE_NAME"), level);
    let lines = fmt::layer()
        .json()
        .flatten_event(true)
        .with_writer(io::stderr);
    tracing_subscriber::registry()
        .with(heard)
        .with(lines)
        .init();

    // Logs panics as errors: otherwise, a panic message would be the only line that isn't JSON.
    panic::set_hook(Box::new(|panic| error!("{panic}")));
}
// ANCHOR_END: logging
