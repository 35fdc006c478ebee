//! Tasks: each request is handled in a task of its own.

use axum::{
    extract::Request,
    middleware::Next,
    response::{IntoResponse, Response},
};
use tracing::Instrument;

use crate::error::Error;

/// Runs the request in a task of its own. If the client hangs up, the task still finishes, and
/// returns its connection to the pool; canceling a query would cost the connection. If a
/// handler panics, which is a bug, the client still gets a response.
pub async fn answer_in_a_task(request: Request, next: Next) -> Response {
    let answered = tokio::spawn(next.run(request).in_current_span()).await;
    answered.unwrap_or_else(|_| Error::Panicked.into_response())
}
