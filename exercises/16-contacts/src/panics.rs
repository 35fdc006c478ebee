//! Panics: a handler that panics has a bug, and its client gets an answer all the same.

use std::panic::AssertUnwindSafe;

use axum::{
    extract::Request,
    http::StatusCode,
    middleware::Next,
    response::{IntoResponse, Response},
};
use futures_util::FutureExt;

use crate::problem::Problem;

/// Answers 500 where a handler has panicked. The log has the panic itself, see `logging.rs`; what the handler had borrowed is
/// dropped, so its connection to the database is closed.
pub async fn answer_panics(request: Request, next: Next) -> Response {
    let answered = AssertUnwindSafe(next.run(request)).catch_unwind().await;
    answered.unwrap_or_else(|_| {
        let problem = Problem::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "an unexpected error occurred",
        );
        problem.into_response()
    })
}
