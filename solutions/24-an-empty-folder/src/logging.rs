//! Logging to standard error, with one JSON object per line.

use std::{io, panic};

use tracing::{Subscriber, error, level_filters::LevelFilter};
use tracing_subscriber::{
    filter::Targets,
    fmt::{self, MakeWriter},
    layer::SubscriberExt,
    util::SubscriberInitExt,
};

/// Sets up logging. `level` applies only to this service's own log lines;
/// libraries log only warnings and errors.
pub fn start(level: LevelFilter) {
    to(level, io::stderr).init();
    panics();
}

/// A subscriber that sends the log to this writer.
pub fn to<W>(level: LevelFilter, writer: W) -> impl Subscriber
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let heard = Targets::new()
        .with_default(level.min(LevelFilter::WARN))
        .with_target(env!("CARGO_CRATE_NAME"), level);
    let lines = fmt::layer()
        .json()
        .flatten_event(true)
        .with_span_list(false)
        .with_writer(writer);
    tracing_subscriber::registry().with(heard).with(lines)
}

/// Logs panics as errors. By default, a panic prints a message that isn't JSON.
pub fn panics() {
    panic::set_hook(Box::new(|panic| error!("{panic}")));
}
