//! The two logs of an importer, for the page "A line that leads somewhere": one for people, one for machines.

use std::{fs::File, io, panic};

use tracing::{Instrument, Level, error, level_filters::LevelFilter, warn_span};
use tracing_subscriber::{
    Layer, filter::Targets, fmt, layer::SubscriberExt, util::SubscriberInitExt,
};

// ANCHOR: logs
/// People get warnings as text. The file gets all that the importer itself says, as JSON.
pub fn start(file: File) {
    let people = fmt::layer()
        .with_writer(io::stderr)
        .with_filter(LevelFilter::WARN);
    let machines = fmt::layer()
        .json()
        .with_writer(file)
        .with_filter(Targets::new().with_target("importer", Level::DEBUG));
    tracing_subscriber::registry()
        .with(people)
        .with(machines)
        .init();

    panic::set_hook(Box::new(|panic| error!(import = "stopped", "{panic}")));
}
// ANCHOR_END: logs

// ANCHOR: span
/// Imports a file. What is logged meanwhile says which file it was, also what libraries log.
pub async fn import(file: &str, rows: impl Future<Output = usize>) -> usize {
    let span = warn_span!("import", file = %file);
    rows.instrument(span).await
}
// ANCHOR_END: span
