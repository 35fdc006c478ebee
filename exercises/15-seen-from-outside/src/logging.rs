//! The log: one JSON object per line, on standard error. `tracing` also provides the spans.

use std::{io, panic};

use opentelemetry_sdk::trace::SdkTracer;
use tracing::error;
use tracing_subscriber::{filter::Targets, fmt, layer::SubscriberExt, util::SubscriberInitExt};

use crate::rocket_log;

// ANCHOR: logging
/// Sets up the log and the telemetry. `heard` filters the log lines.
///
/// Your task: add a second layer that creates spans with `tracer`, without the filter `heard`.
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

    // Logs panics as errors: otherwise, a panic message would be the only line that isn't JSON.
    panic::set_hook(Box::new(|panic| error!("{panic}")));
}
// ANCHOR_END: logging
