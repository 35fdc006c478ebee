//! The catchers: the answers to requests that no handler could answer.

use rocket::{Request, catch, http::Status};
use tracing::error;

use crate::{problem::Problem, request_span::request_span};

// ANCHOR: catchers
/// Answers a request that Rocket could not read.
#[catch(400)]
pub fn malformed() -> Problem {
    Problem::new(Status::BadRequest, "the request is malformed")
}

/// Answers when no route has the path.
#[catch(404)]
pub fn nothing_here() -> Problem {
    Problem::new(Status::NotFound, "there is nothing at this path")
}

/// Responds to every other failure, most importantly a handler that panicked (500).
#[catch(default)]
pub fn unexpected(status: Status, request: &Request<'_>) -> Problem {
    error!(parent: request_span(request), "no handler has answered: {status}");
    Problem::new(status, "an unexpected error occurred")
}
// ANCHOR_END: catchers
