//! The span of a request: each line logged inside the span has the request id, even lines from
//! libraries, which know nothing about requests.

use rocket::{
    Data, Request, Route, async_trait,
    route::{Handler, Outcome},
};
use tracing::{Instrument, Span, error_span};

use crate::request_id::RequestId;

// ANCHOR: request-span
/// The span of this request. Its level is `error`, so it's enabled at every `LOG_LEVEL`.
pub fn request_span<'r>(request: &'r Request<'_>) -> &'r Span {
    request.local_cache(|| error_span!("request", request_id = %RequestId::of(request)))
}

/// Runs a route's handler in the span of the request. Guards, and the responder that turns the
/// result into a response, run there too: Rocket's macros make them part of the handler.
#[derive(Clone)]
struct InSpan(Box<dyn Handler>);

#[async_trait]
impl Handler for InSpan {
    async fn handle<'r>(&self, request: &'r Request<'_>, data: Data<'r>) -> Outcome<'r> {
        let span = request_span(request).clone();
        self.0.handle(request, data).instrument(span).await
    }
}
// ANCHOR_END: request-span

/// Runs the handlers of these routes in spans. A fairing can't do this: it runs before and
/// after a handler, but can't wrap the handler.
pub fn in_spans(mut routes: Vec<Route>) -> Vec<Route> {
    for route in &mut routes {
        route.handler = Box::new(InSpan(route.handler.clone()));
    }
    routes
}
