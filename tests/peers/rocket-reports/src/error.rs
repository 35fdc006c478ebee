//! The errors of a request: the response that the client gets, and the entry in the log.

use rocket::{
    Request,
    http::Status,
    response::{self, Responder},
};
use sqlx::error::BoxDynError;
use tracing::{error, warn};

use crate::{outage::is_outage, problem::Problem};

/// The detail for the client after a bug. It must not disclose SQL, host names or user names.
pub const UNEXPECTED: &str = "an unexpected error occurred";

/// The reason why a request failed. A handler returns it as the `Err` of its `Result`.
#[derive(Debug)]
pub enum Error {
    /// The request is at fault: `detail` explains why, for a human reader.
    Refused { status: Status, detail: String },
    /// The database cannot be reached, or takes too long.
    Unavailable(BoxDynError),
    /// The migrations have not run yet, or a table or column that this release needs is gone.
    OldSchema,
    /// The database rejects a query: the bug is in this service.
    Query(sqlx::Error),
}

/// A client error: a status from 400 to 499, and a sentence for a human reader.
pub fn refused(status: Status, detail: impl Into<String>) -> Error {
    let detail = detail.into();
    Error::Refused { status, detail }
}

impl Error {
    /// The status of a failed guard, unless the handler takes a `Result` and responds itself.
    pub fn status(&self) -> Status {
        match self {
            Error::Refused { status, .. } => *status,
            Error::Unavailable(_) | Error::OldSchema => Status::ServiceUnavailable,
            Error::Query(_) => Status::InternalServerError,
        }
    }
}

/// Lets handlers return an `Error`. Failures of the service are logged here, in the span of
/// the request; client errors are only reported to the client.
impl<'r> Responder<'r, 'static> for Error {
    fn respond_to(self, request: &'r Request<'_>) -> response::Result<'static> {
        let (status, detail) = match self {
            Error::Refused { status, detail } => (status, detail),
            Error::Unavailable(reason) => {
                warn!("the database does not answer: {reason}");
                let detail = "the database does not answer";
                (Status::ServiceUnavailable, detail.to_owned())
            }
            Error::OldSchema => {
                let detail = "the schema is not up to date yet";
                warn!("{detail}");
                (Status::ServiceUnavailable, detail.to_owned())
            }
            Error::Query(error) => {
                error!("a query failed: {error}");
                (Status::InternalServerError, UNEXPECTED.to_owned())
            }
        };
        Problem::new(status, detail).respond_to(request)
    }
}

/// Distinguishes an outage from a rejected query, so that `?` converts each to the right error.
impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Error {
        if is_outage(&error) {
            Error::Unavailable(error.into())
        } else {
            Error::Query(error)
        }
    }
}
