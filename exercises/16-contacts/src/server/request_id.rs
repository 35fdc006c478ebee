//! The request id: in the answer, and in each line of the log about the request, so that a user's
//! report leads to the line that explains it.

use std::time::Instant;

use axum::{
    extract::Request,
    http::{HeaderMap, HeaderName, HeaderValue},
    middleware::Next,
    response::Response,
};
use tracing::{Instrument, error_span, info};
use uuid::Uuid;

const HEADER: HeaderName = HeaderName::from_static("x-request-id");

/// Gives each answer the id of its request, and logs the request with `LOG_LEVEL=info`. What is logged on the way to the answer
/// has the id as well: it happens in the span of the request.
pub async fn log_request(request: Request, next: Next) -> Response {
    let id = request_id(request.headers());
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let started_at = Instant::now();

    let span = error_span!("request", request_id = %id);
    let mut response = next.run(request).instrument(span).await;

    info!(
        request_id = %id,
        %method,
        path,
        status = response.status().as_u16(),
        milliseconds = started_at.elapsed().as_secs_f64() * 1000.0,
        "answered"
    );
    if let Ok(id) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(HEADER, id);
    }
    response
}

/// The id that the request has brought, from a proxy for example, else one of its own.
fn request_id(headers: &HeaderMap) -> String {
    let brought = headers.get(HEADER).and_then(|id| id.to_str().ok());
    match brought.filter(|id| is_usable(id)) {
        Some(id) => id.to_owned(),
        None => Uuid::new_v4().to_string(),
    }
}

/// What a client sends ends up in the log: only what cannot be mistaken for anything else is taken.
fn is_usable(id: &str) -> bool {
    (1..=64).contains(&id.len())
        && id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}
