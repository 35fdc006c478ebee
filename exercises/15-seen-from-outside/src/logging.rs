//! The log: one JSON object per line, on standard error. From the same `tracing` come the spans of the telemetry.

use std::{io, panic};

use opentelemetry_sdk::trace::SdkTracer;
use tracing::error;
use tracing_subscriber::{filter::Targets, fmt, layer::SubscriberExt, util::SubscriberInitExt};

use crate::rocket_log;

// ANCHOR: logging
/// Sets up the log and the telemetry. `heard` filters the lines.
///
/// Your task: a second layer makes spans with `tracer`, and `heard` doesn't filter these.
pub fn start(heard: Targets, _tracer: SdkTracer) {
    let lines = fmt::layer()
        .json()
        .flatten_event(true)
        .with_span_list(false) // the span of the request has the ids
        .with_writer(io::stderr);
    tracing_subscriber::registry()
        .with(heard)
        .with(lines)
        .init();
    rocket_log::listen();

    // A panic is an error like any other: without this it would be the one line that is not JSON.
    panic::set_hook(Box::new(|panic| error!("{panic}")));
}
// ANCHOR_END: logging
