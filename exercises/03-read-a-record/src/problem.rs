//! Problem details (RFC 9457): the responses to failed requests.

use rocket::{
    Request, catch, error,
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

// ANCHOR: query-failed
/// Converts a query's error into a response, so that handlers can use `?` on queries.
impl From<sqlx::Error> for Problem {
    fn from(error: sqlx::Error) -> Problem {
        if is_outage(&error) {
            // Not logged here: during an outage, every request would log this. `/ready` logs the reason.
            return Problem::new(Status::ServiceUnavailable, "the database does not answer");
        }
        error!("a query failed: {error}");
        Problem::new(Status::InternalServerError, "an unexpected error occurred")
    }
}

/// Whether the database is unreachable or refuses the login, as opposed to rejecting the query.
fn is_outage(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed | sqlx::Error::Io(_) => true,
        // SQLSTATE codes, from "Appendix A. PostgreSQL Error Codes" of the PostgreSQL manual.
        sqlx::Error::Database(error) => match error.code().as_deref() {
            Some("53300" | "55000") => true, // too many connections, database closed to connections
            Some(code) => ["08", "28", "3D", "57P"] // lost, refused, no such database, stopping
                .iter()
                .any(|class| code.starts_with(class)),
            None => false,
        },
        _ => false,
    }
}
// ANCHOR_END: query-failed

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
