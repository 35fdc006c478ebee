//! Tasks: each request is handled in a task of its own.

use axum::{
    extract::Request,
    http::StatusCode,
    middleware::Next,
    response::{IntoResponse, Response},
};
use tracing::Instrument;

use crate::error::problem::Problem;

/// Handles the request in its own task. If the client disconnects, the task carries on and returns its database connection
/// to the pool: canceling the query would lose that connection. If a handler panics, the panic is logged (see
/// `logging.rs`), and the client still gets a response.
pub async fn answer_in_a_task(request: Request, next: Next) -> Response {
    let answered = tokio::spawn(next.run(request).in_current_span()).await;
    answered.unwrap_or_else(|_| {
        let problem = Problem::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "an unexpected error occurred",
        );
        problem.into_response()
    })
}
