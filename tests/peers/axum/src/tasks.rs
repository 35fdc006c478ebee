//! Tasks: each request is handled in a task of its own.

use axum::{
    extract::Request,
    middleware::Next,
    response::{IntoResponse, Response},
};
use tracing::Instrument;

use crate::error::Error;

/// Answers in a task. A client that hangs up ends its connection, and not the task: what that has
/// borrowed goes back to the pool, where a query cut short would cost the connection. And a handler
/// that panics has a bug, but its client gets an answer all the same.
pub async fn answer_in_a_task(request: Request, next: Next) -> Response {
    let answered = tokio::spawn(next.run(request).in_current_span()).await;
    answered.unwrap_or_else(|_| Error::Panicked.into_response())
}
