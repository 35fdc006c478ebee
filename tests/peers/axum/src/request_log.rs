//! The request log: one line per request with `LOG_LEVEL=info`, and one per failure that an
//! operator must know of. Each line has the request's id, so a user's report leads there.

use std::time::Instant;

use axum::{extract::Request, middleware::Next, response::Response};
use tracing::info;

/// Removes the client's own request id if it would be ambiguous in the log.
/// tower-http then generates one.
pub fn forget_an_unusable_id(mut request: Request) -> Request {
    let brought = request.headers().get("x-request-id");
    if brought.is_some_and(|id| !is_usable(id.as_bytes())) {
        request.headers_mut().remove("x-request-id");
    }
    request
}

fn is_usable(id: &[u8]) -> bool {
    let allowed = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (1..=64).contains(&id.len()) && id.iter().all(allowed)
}

/// Logs a request once its response is ready.
pub async fn log(request: Request, next: Next) -> Response {
    let method = request.method().clone();
    let path = request.uri().path().to_owned(); // without the query, which may hold a key
    let started_at = Instant::now();
    let response = next.run(request).await;
    info!(
        %method,
        path,
        status = response.status().as_u16(),
        milliseconds = started_at.elapsed().as_secs_f64() * 1000.0,
        "answered"
    );
    response
}
