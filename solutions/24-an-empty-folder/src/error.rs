//! The errors of a request: the response that the client gets, and the entry in the log.

use axum::{
    http::{HeaderValue, StatusCode, header::WWW_AUTHENTICATE},
    response::{IntoResponse, Response},
};
use sqlx::error::BoxDynError;
use tracing::{error, warn};

use crate::{outage::is_outage, problem::problem};

/// The detail for the client after a bug. It must not disclose SQL, host names or user names.
pub const UNEXPECTED: &str = "an unexpected error occurred";

/// The reason why a request failed. A handler returns it as the `Err` of its `Result`.
#[derive(Debug)]
pub enum Error {
    /// The request is at fault: `detail` explains why, for a human reader.
    Refused { status: StatusCode, detail: String },
    /// The database cannot be reached, or takes too long.
    Unavailable(BoxDynError),
    /// The migrations have not run yet, or a table or column that this release needs is gone.
    OldSchema,
    /// The database rejects a query: the bug is in this service.
    Query(sqlx::Error),
}

/// A client error: a status from 400 to 499, and a sentence for a human reader.
pub fn refused(status: StatusCode, detail: impl Into<String>) -> Error {
    let detail = detail.into();
    Error::Refused { status, detail }
}

/// Lets handlers return an `Error`. Failures of the service are logged here, in the span of the
/// request; client errors are only reported to the client.
impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let (status, detail) = match self {
            Error::Refused { status, detail } => (status, detail),
            Error::Unavailable(reason) => {
                warn!("the database does not answer: {reason}");
                let detail = "the database does not answer";
                (StatusCode::SERVICE_UNAVAILABLE, detail.to_owned())
            }
            Error::OldSchema => {
                let detail = "the schema is not up to date yet";
                warn!("{detail}");
                (StatusCode::SERVICE_UNAVAILABLE, detail.to_owned())
            }
            Error::Query(error) => {
                error!("a query failed: {error}");
                (StatusCode::INTERNAL_SERVER_ERROR, UNEXPECTED.to_owned())
            }
        };
        let mut response = problem(status, &detail);
        if status == StatusCode::UNAUTHORIZED {
            let challenge = HeaderValue::from_static("ApiKey");
            response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
        }
        response
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
