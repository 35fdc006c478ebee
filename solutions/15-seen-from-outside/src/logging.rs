//! The log: one JSON object per line, on standard error. `tracing` also provides the spans.

use std::{io, panic};

use opentelemetry_sdk::trace::SdkTracer;
use tracing::{Metadata, error, level_filters::LevelFilter};
use tracing_subscriber::{
    Layer,
    filter::{FilterExt, Targets, filter_fn},
    fmt,
    layer::SubscriberExt,
    util::SubscriberInitExt,
};

use crate::rocket_log;

// ANCHOR: logging
/// Sets up the log and the export of spans. `heard` filters the log lines, but not the spans.
pub fn start(heard: Targets, tracer: SdkTracer) {
    let lines = fmt::layer()
        .json()
        .flatten_event(true)
        .with_span_list(false) // the span of the request has the ids
        .with_writer(io::stderr)
        .with_filter(heard.and(filter_fn(is_line_or_request)));
    let spans = tracing_opentelemetry::layer()
        .with_tracer(tracer)
        .with_location(false)
        .with_target(false)
        .with_threads(false)
        .with_tracked_inactivity(false)
        .with_filter(filter_fn(is_own_span).with_max_level_hint(LevelFilter::INFO));
    tracing_subscriber::registry()
        .with(lines)
        .with(spans)
        .init();
    rocket_log::listen();

    // Logs panics as errors: otherwise, a panic message would be the only line that isn't JSON.
    panic::set_hook(Box::new(|panic| error!("{panic}")));
}

/// Keeps events and request spans, but no query spans: a log line names only its request.
fn is_line_or_request(about: &Metadata<'_>) -> bool {
    about.is_event() || about.name() == "request"
}

/// Exports only this service's spans: libraries' spans and log messages may contain secrets.
fn is_own_span(about: &Metadata<'_>) -> bool {
    about.is_span() && about.target().starts_with(env!("CARGO_CRATE_NAME"))
}
// ANCHOR_END: logging
