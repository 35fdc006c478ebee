//! The span of a request, and the wrapper that runs each handler inside that span. Every log
//! line in the span has the request id and the trace id, even lines from libraries.

use rocket::{
    Data, Request, Route, async_trait,
    http::Status,
    route::{self, Handler},
};
use tracing::{Instrument, Span, error_span};

use crate::request_id::RequestId;

// ANCHOR: request-span
/// The span of this request. Its level is `error`, so it's enabled at every `LOG_LEVEL`.
///
/// Your task: give the span a name, a kind, attributes, and the parent that
/// `trace_context` extracts. Also record the trace id, for the log lines.
pub fn request_span<'r>(request: &'r Request<'_>) -> &'r Span {
    request.local_cache(|| error_span!("request", request_id = %RequestId::of(request)))
}

/// Your task: record the response status in the span.
pub fn answered(_request: &Request<'_>, _status: Status) {}

/// The route of this request with the names of its parameters, such as `/read/{id}`.
#[expect(
    dead_code,
    reason = "your spans and measures need it; then delete this"
)]
pub fn route_of(request: &Request<'_>) -> Option<String> {
    let path = request.route()?.uri.path();
    Some(path.replace('<', "{").replace('>', "}"))
}
// ANCHOR_END: request-span

// ANCHOR: in-span
/// Runs a route's handler in the span of the request. Guards, and the responder that turns the
/// result into a response, run there too: Rocket's macros make them part of the handler.
#[derive(Clone)]
struct InSpan(Box<dyn Handler>);

#[async_trait]
impl Handler for InSpan {
    async fn handle<'r>(&self, request: &'r Request<'_>, data: Data<'r>) -> route::Outcome<'r> {
        let span = request_span(request).clone();
        self.0.handle(request, data).instrument(span).await
    }
}

/// Runs the handlers of these routes in spans. A fairing can't do this: it runs before and
/// after a handler, but can't wrap the handler.
pub fn in_spans(mut routes: Vec<Route>) -> Vec<Route> {
    for route in &mut routes {
        route.handler = Box::new(InSpan(route.handler.clone()));
    }
    routes
}
// ANCHOR_END: in-span
