//! The span of a request, and the wrapper that runs each handler inside that span. Every log
//! line in the span has the request id and the trace id, even lines from libraries.

use opentelemetry::trace::{Status as Outcome, TraceContextExt};
use rocket::{
    Data, Request, Route, async_trait,
    http::Status,
    route::{self, Handler},
};
use tracing::{Instrument, Span, error_span, field::Empty, warn};
use tracing_opentelemetry::OpenTelemetrySpanExt;

use crate::{request_id::RequestId, trace_context};

// ANCHOR: request-span
/// The span of this request. Its level is `error`, so it's enabled at every `LOG_LEVEL`.
///
/// The name and the parent are set at creation: neither can change once the span has started.
pub fn request_span<'r>(request: &'r Request<'_>) -> &'r Span {
    request.local_cache(|| {
        let method = request.method().as_str();
        let route = route_of(request);
        let name = match &route {
            Some(route) => format!("{method} {route}"),
            None => method.to_owned(),
        };
        let span = error_span!(
            "request",
            otel.name = name,
            otel.kind = "server",
            request_id = %RequestId::of(request),
            trace_id = Empty,
        );
        if let Err(error) = span.set_parent(trace_context::of(request)) {
            warn!("a trace begins anew: {error}");
        }
        // These attributes go into the telemetry, but not into each log line.
        span.set_attribute("http.request.method", method);
        if let Some(route) = route {
            span.set_attribute("http.route", route);
        }
        span.set_attribute("url.scheme", "http");
        span.set_attribute("url.path", request.uri().path().to_string()); // without the query, which may hold a key
        let trace_id = span.context().span().span_context().trace_id();
        span.record("trace_id", trace_id.to_string());
        span
    })
}

/// Records the status in the span. Only a 5xx is our error: a 4xx is the client's.
pub fn answered(request: &Request<'_>, status: Status) {
    let span = request_span(request);
    span.set_attribute("http.response.status_code", i64::from(status.code));
    if status.class().is_server_error() {
        span.set_attribute("error.type", status.code.to_string());
        span.set_status(Outcome::error(""));
    }
}

/// The route of this request with the names of its parameters, such as `/read/{id}`.
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
