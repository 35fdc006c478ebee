//! The span of a request, for tower-http's `TraceLayer`: its initial attributes, and those
//! of the response. Inner layers run inside the span. It ends with the body's last byte.

use std::time::Duration;

use axum::{
    extract::{MatchedPath, Request},
    http::Method,
    response::Response,
};
use opentelemetry::{
    Context,
    propagation::TextMapPropagator,
    trace::{Status, TraceContextExt},
};
use opentelemetry_http::{HeaderExtractor, HeaderInjector};
use opentelemetry_sdk::propagation::TraceContextPropagator;
use tower_http::request_id::RequestId;
use tracing::{Span, error_span, field::Empty};
use tracing_opentelemetry::OpenTelemetrySpanExt;

// ANCHOR: request-span
/// The span of this request. Its level is `error`, so it's enabled at every `LOG_LEVEL`.
///
/// The name and parent are set at the beginning, because they can't change once the span
/// has started. `DefaultMakeSpan` would record the whole URI, whose query can hold a key.
pub fn of(request: &Request) -> Span {
    let (method, route) = (method_of(request), route_of(request));
    let name = match (method, route) {
        (OTHER, _) => "HTTP".to_owned(),
        (method, Some(route)) => format!("{method} {route}"),
        (method, None) => method.to_owned(),
    };
    let id = request.extensions().get::<RequestId>();
    let request_id = id.and_then(|id| id.header_value().to_str().ok());
    let span = error_span!(
        "request",
        otel.name = name,
        otel.kind = "server",
        request_id = request_id.unwrap_or_default(),
        trace_id = Empty,
        subject = Empty,
    );
    // Without a collector, spans aren't exported, so the attributes below aren't needed.
    if span.set_parent(caller(request)).is_err() {
        return span;
    }
    // These attributes go into the telemetry, but not into each log line.
    span.set_attribute("http.request.method", method);
    if let Some(route) = route {
        span.set_attribute("http.route", route.to_owned());
    }
    span.set_attribute("url.scheme", "http");
    span.set_attribute("url.path", request.uri().path().to_owned()); // without the query
    let trace_id = span.context().span().span_context().trace_id();
    span.record("trace_id", trace_id.to_string());
    span
}

/// Records the status in the span. Only a 5xx is our error: a 4xx is the client's.
pub fn answered(response: &Response, _latency: Duration, span: &Span) {
    let status = response.status();
    span.set_attribute("http.response.status_code", i64::from(status.as_u16()));
    if status.is_server_error() {
        span.set_attribute("error.type", status.as_str().to_owned());
        span.set_status(Status::error(""));
    }
}
// ANCHOR_END: request-span

/// The placeholder for nonstandard methods.
const OTHER: &str = "_OTHER";

/// The method if it's standard, else `OTHER`: each invented one would be a new time series.
pub fn method_of(request: &Request) -> &'static str {
    match *request.method() {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::DELETE => "DELETE",
        Method::CONNECT => "CONNECT",
        Method::OPTIONS => "OPTIONS",
        Method::TRACE => "TRACE",
        Method::PATCH => "PATCH",
        _ => OTHER,
    }
}

/// The route of this request with the names of its parameters, such as `/read/{id}`.
pub fn route_of(request: &Request) -> Option<&str> {
    request
        .extensions()
        .get::<MatchedPath>()
        .map(MatchedPath::as_str)
}

/// The context of the caller's span, empty without a usable `traceparent` header.
fn caller(request: &Request) -> Context {
    let headers = HeaderExtractor(request.headers());
    TraceContextPropagator::new().extract_with_context(&Context::new(), &headers)
}

/// Injects this context into the headers: its span becomes the parent of the callee's span.
pub fn pass_on(context: &Context, headers: &mut reqwest::header::HeaderMap) {
    TraceContextPropagator::new().inject_context(context, &mut HeaderInjector(headers));
}
