//! The request id, in the response and in each log line about the request, so that the id in a
//! user's report leads to the line that explains the failure.

use std::time::Duration;

use axum::{Router, extract::Request, http::HeaderName, response::Response};
use tower::ServiceBuilder;
use tower_http::{
    request_id::{MakeRequestUuid, PropagateRequestIdLayer, SetRequestIdLayer},
    trace::TraceLayer,
};
use tracing::{Span, error_span, info};

const HEADER: HeaderName = HeaderName::from_static("x-request-id");

/// Gives each request and its response the same id and, with `LOG_LEVEL=info`, logs each request. The layers wrap all
/// routes, and the first layer is the outermost.
pub fn around(routes: Router) -> Router {
    let layers = ServiceBuilder::new()
        .map_request(without_an_unusable_id)
        .layer(SetRequestIdLayer::new(HEADER, MakeRequestUuid))
        .layer(PropagateRequestIdLayer::new(HEADER))
        .layer(
            TraceLayer::new_for_http()
                .make_span_with(span)
                .on_request(())
                .on_response(answered)
                .on_failure(()), // `error/mod.rs` says why
        );
    routes.layer(layers)
}

/// Removes an unusable id: the next layer would adopt it, and it would end up in the logs.
fn without_an_unusable_id(mut request: Request) -> Request {
    let allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_".contains(byte);
    let id = request.headers().get(HEADER).map(|id| id.as_bytes());
    if !id.is_some_and(|id| (1..=64).contains(&id.len()) && id.iter().all(allowed)) {
        request.headers_mut().remove(HEADER);
    }
    request
}

/// The span of a request: every line that is logged inside the span has the request id.
fn span(request: &Request) -> Span {
    let id = request.headers().get(HEADER);
    let request_id = id.and_then(|id| id.to_str().ok()).unwrap_or_default();
    error_span!("request", request_id, method = %request.method(), path = request.uri().path())
}

fn answered(response: &Response, took: Duration, _: &Span) {
    let (status, milliseconds) = (response.status().as_u16(), took.as_secs_f64() * 1000.0);
    info!(status, milliseconds, "answered");
}
