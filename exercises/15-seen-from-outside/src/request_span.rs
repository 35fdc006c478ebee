//! The span of a request: its start, its end, and the layer around each handler that runs it inside. Each line that is logged inside
//! it has the ids of request and trace, also those of libraries, which know nothing of requests.

use rocket::{
    Data, Request, Route, async_trait,
    http::Status,
    route::{self, Handler},
};
use tracing::{Instrument, Span, error_span};

use crate::request_id::RequestId;

// ANCHOR: request-span
/// The span of this request. Its level is `error`, so that it exists at every `LOG_LEVEL`.
///
/// Your task: the span has a name, a kind, attributes, and the parent that `trace_context` finds, and the
/// log has the id of its trace.
pub fn request_span<'r>(request: &'r Request<'_>) -> &'r Span {
    request.local_cache(|| error_span!("request", request_id = %RequestId::of(request)))
}

/// Your task: record in the span how the request was answered.
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
/// The handler of a route, run in the span of its request. The guards, and the responder that turns the
/// result into an answer, run inside it as well: Rocket's macros put them into the handler.
#[derive(Clone)]
struct InSpan(Box<dyn Handler>);

#[async_trait]
impl Handler for InSpan {
    async fn handle<'r>(&self, request: &'r Request<'_>, data: Data<'r>) -> route::Outcome<'r> {
        let span = request_span(request).clone();
        self.0.handle(request, data).instrument(span).await
    }
}

/// Runs the handlers of these routes in spans. A fairing cannot: it sees a request before its handler
/// and after it, never around it.
pub fn in_spans(mut routes: Vec<Route>) -> Vec<Route> {
    for route in &mut routes {
        route.handler = Box::new(InSpan(route.handler.clone()));
    }
    routes
}
// ANCHOR_END: in-span
