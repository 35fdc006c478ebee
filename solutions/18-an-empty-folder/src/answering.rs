//! What is the same for every answer: the id of its request, a task of its own, and a line in the log.

use std::{sync::Arc, time::Instant};

use axum::{
    extract::Request,
    http::HeaderValue,
    middleware::Next,
    response::{IntoResponse, Response},
};
use tracing::info;
use uuid::Uuid;

use crate::error::Error;

const REQUEST_ID: &str = "x-request-id";

/// Answers in a task. A client that hangs up ends its connection, and not the task: a transaction is
/// either done or undone, and its connection goes back to the pool. A handler that panics has a bug,
/// but its client gets an answer all the same.
pub async fn answer(request: Request, next: Next) -> Response {
    let id = brought_id(&request).unwrap_or_else(|| Uuid::new_v4().simple().to_string());
    let header = HeaderValue::from_str(&id);
    let task = tokio::spawn(async move {
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        let started_at = Instant::now();
        let response = next.run(request).await;
        if let Some(error) = response.extensions().get::<Arc<Error>>() {
            error.log(&id);
        }
        let milliseconds = started_at.elapsed().as_secs_f64() * 1000.0;
        let status = response.status().as_u16();
        info!(request_id = id, %method, path, status, milliseconds, "answered");
        response
    });
    let mut response = task
        .await
        .unwrap_or_else(|_| Error::Panicked.into_response());
    if let Ok(id) = header {
        response.headers_mut().insert(REQUEST_ID, id);
    }
    response
}

/// The client's own id. It ends up in the log, so one that could be mistaken for anything else does not count.
fn brought_id(request: &Request) -> Option<String> {
    let id = request.headers().get(REQUEST_ID)?.to_str().ok()?;
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let is_usable = (1..=64).contains(&id.len()) && id.chars().all(allowed);
    is_usable.then(|| id.to_owned())
}
