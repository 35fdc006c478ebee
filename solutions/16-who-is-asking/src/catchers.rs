//! The catchers: the answers to requests that no handler could answer.

use rocket::{Request, catch, http::Status};
use tracing::error;

use crate::{problem::Problem, refused::Refusal, request_span::request_span};

// ANCHOR: catchers
/// Responds to a request that Rocket couldn't parse, or whose `Authorization` is malformed.
#[catch(400)]
pub fn malformed(request: &Request<'_>) -> Result<Refusal, Problem> {
    let malformed = || Problem::new(Status::BadRequest, "the request is malformed");
    Refusal::of(request).ok_or_else(malformed)
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
