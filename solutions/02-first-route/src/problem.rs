//! Problem details (RFC 9457): the responses to failed requests.

use rocket::{
    Request, catch,
    http::{ContentType, Status},
    response::{self, Responder},
    serde::json::Json,
};
use serde::Serialize;

// ANCHOR: problem
/// The response to a failed request. A handler returns it as the `Err` of its `Result`.
#[derive(Debug, Serialize)]
pub struct Problem {
    #[serde(rename = "type")]
    problem_type: &'static str,
    title: &'static str,
    status: Status,
    detail: String,
}

impl Problem {
    /// A problem with this status. `detail` is a sentence for the person who reads the response.
    pub fn new(status: Status, detail: impl Into<String>) -> Problem {
        Problem {
            problem_type: "about:blank", // RFC 9457: the status says it all
            title: status.reason_lossy(),
            status,
            detail: detail.into(),
        }
    }
}

/// Lets a handler return a `Problem`.
impl<'r> Responder<'r, 'static> for Problem {
    fn respond_to(self, request: &'r Request<'_>) -> response::Result<'static> {
        let problem_json = ContentType::new("application", "problem+json");
        (self.status, (problem_json, Json(self))).respond_to(request)
    }
}
// ANCHOR_END: problem

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
