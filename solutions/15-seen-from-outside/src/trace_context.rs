//! `traceparent` and `tracestate`: the trace that a request belongs to, read from it and passed on.

use opentelemetry::{
    Context,
    propagation::{Extractor, TextMapPropagator},
};
use opentelemetry_http::HeaderInjector;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use rocket::{Request, http::HeaderMap};

// ANCHOR: trace-context
/// The context of the caller's span; an empty one if the request has no `traceparent`,
/// or an invalid one.
pub fn of(request: &Request<'_>) -> Context {
    let no_span = Context::new();
    TraceContextPropagator::new().extract_with_context(&no_span, &Headers(request.headers()))
}

/// Writes the headers that make this context's span the parent.
pub fn pass_on(context: &Context, headers: &mut reqwest::header::HeaderMap) {
    TraceContextPropagator::new().inject_context(context, &mut HeaderInjector(headers));
}

/// Rocket's headers, as the propagator reads them: it asks for these two.
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
