//! Trace context: extracts `traceparent` and `tracestate` from requests, and passes them on.
#![expect(dead_code, reason = "your spans need it; then delete this line")]

use opentelemetry::{
    Context,
    propagation::{Extractor, TextMapPropagator},
};
use opentelemetry_http::HeaderInjector;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use rocket::{Request, http::HeaderMap};

// ANCHOR: trace-context
/// The context of the caller's span, or an empty context if the `traceparent` is missing or
/// invalid.
pub fn of(request: &Request<'_>) -> Context {
    let no_span = Context::new();
    TraceContextPropagator::new().extract_with_context(&no_span, &Headers(request.headers()))
}

/// Injects this context into the headers: its span becomes the parent of the callee's span.
pub fn pass_on(context: &Context, headers: &mut reqwest::header::HeaderMap) {
    TraceContextPropagator::new().inject_context(context, &mut HeaderInjector(headers));
}

/// Adapts Rocket's headers for the propagator, which reads `traceparent` and `tracestate`.
struct Headers<'r>(&'r HeaderMap<'r>);

impl Extractor for Headers<'_> {
    fn get(&self, name: &str) -> Option<&str> {
        self.0.get_one(name)
    }

    fn keys(&self) -> Vec<&str> {
        vec!["traceparent", "tracestate"]
    }
}
// ANCHOR_END: trace-context
