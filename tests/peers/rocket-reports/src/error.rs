//! What a request can fail with: what the client is told of it, and what the log.

use std::{error::Error as _, iter};

use rocket::{
    Request,
    http::Status,
    response::{self, Responder},
};
use sqlx::error::BoxDynError;
use thiserror::Error;
use tracing::error;

use crate::{problem::Problem, request_id::RequestId};

/// Why a request has failed: what a handler returns as the `Err` of its `Result`.
#[derive(Debug, Error)]
pub enum Error {
    /// The client has to ask for something else, or in another way: `detail` says so to a person.
    #[error("{detail}")]
    Refused { status: Status, detail: String },
    /// The database cannot be reached, takes too long, or has no tables yet.
    #[error("the database does not answer")]
    Unavailable(#[source] BoxDynError),
    /// The database rejects a query: the bug is in this service.
    #[error("a query failed")]
    Query(#[source] sqlx::Error),
}

/// The error of a client: its status, 400 to 499, and what to tell a person.
pub fn refused(status: Status, detail: impl Into<String>) -> Error {
    let detail = detail.into();
    Error::Refused { status, detail }
}

impl Error {
    /// The status of the answer.
    pub fn status(&self) -> Status {
        match self {
            Error::Refused { status, .. } => *status,
            Error::Unavailable(_) => Status::ServiceUnavailable,
            Error::Query(_) => Status::InternalServerError,
        }
    }
}

/// Makes an `Error` something that a handler can return. A failure of the service is logged, with its
/// causes; a client's mistakes are told to the client.
impl<'r> Responder<'r, 'static> for Error {
    fn respond_to(self, request: &'r Request<'_>) -> response::Result<'static> {
        let status = self.status();
        if status.class().is_server_error() {
            let causes = iter::successors(self.source(), |&cause| cause.source());
            let causes: Vec<String> = causes.map(|cause| cause.to_string()).collect();
            error!(request_id = %RequestId::of(request), "{self}: {}", causes.join(": "));
        }
        let detail = match status {
            // A client has no business with SQL, hosts or users.
            Status::InternalServerError => "an unexpected error occurred".to_owned(),
            _ => self.to_string(),
        };
        Problem::new(status, detail).respond_to(request)
    }
}

/// Tells an outage from a query that is wrong. Thanks to this, `?` does the rest.
impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Error {
        match is_outage(&error) {
            true => Error::Unavailable(error.into()),
            false => Error::Query(error),
        }
    }
}

/// Whether the database cannot be reached, refuses the login or takes too long, rather than rejects the query.
fn is_outage(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_) => true,
        // The codes are PostgreSQL's, from "Appendix A. PostgreSQL Error Codes" of its manual.
        sqlx::Error::Database(error) => error.code().is_some_and(|code| {
            // Only for reading since another server took over, out of memory, too many connections, closed to connections,
            // took too long; lost, refused, no such database, rolled back, stopping.
            let outages = [
                "25006", "53200", "53300", "55000", "57014", "08", "28", "3D", "40", "57P",
            ];
            outages.iter().any(|outage| code.starts_with(outage))
        }),
        _ => false,
    }
}
