//! The catchers: the responses to requests that no handler has answered.

use rocket::{Request, catch, http::Status};

use crate::problem::Problem;

// ANCHOR: catchers
/// Responds when Rocket can't parse a request.
#[catch(400)]
pub fn malformed() -> Problem {
    Problem::new(Status::BadRequest, "the request is malformed")
}

/// Responds when no route matches the path.
#[catch(404)]
pub fn nothing_here() -> Problem {
    Problem::new(Status::NotFound, "there is nothing at this path")
}

/// Responds to every failure without its own catcher, such as a panic in a handler (500).
#[catch(default)]
pub fn unexpected(status: Status, _request: &Request<'_>) -> Problem {
    Problem::new(status, "an unexpected error occurred")
}
// ANCHOR_END: catchers
