//! The request id: in the answer, and in each line of the log about the request, so that a user's
//! report leads to the line that explains it.

use std::time::Duration;

use axum::{Router, extract::Request, http::HeaderName, response::Response};
use tower::ServiceBuilder;
use tower_http::{
    request_id::{MakeRequestUuid, PropagateRequestIdLayer, SetRequestIdLayer},
    trace::TraceLayer,
};
use tracing::{Span, error_span, info};

const HEADER: HeaderName = HeaderName::from_static("x-request-id");

/// Gives each request an id and its answer the same, and logs it with `LOG_LEVEL=info`. Put it around all routes: the first layer is
/// the outermost.
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

/// The layer adopts any id that the client has sent, and it ends up in the log. So an ambiguous one is removed.
fn without_an_unusable_id(mut request: Request) -> Request {
    let allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_".contains(byte);
    let id = request.headers().get(HEADER).map(|id| id.as_bytes());
    if !id.is_some_and(|id| (1..=64).contains(&id.len()) && id.iter().all(allowed)) {
        request.headers_mut().remove(HEADER);
    }
    request
}

/// Everything logged while the request is answered is within this span, and so has the id.
fn span(request: &Request) -> Span {
    let id = request.headers().get(HEADER);
    let request_id = id.and_then(|id| id.to_str().ok()).unwrap_or_default();
    error_span!("request", request_id, method = %request.method(), path = request.uri().path())
}

fn answered(response: &Response, took: Duration, _: &Span) {
    let (status, milliseconds) = (response.status().as_u16(), took.as_secs_f64() * 1000.0);
    info!(status, milliseconds, "answered");
}
