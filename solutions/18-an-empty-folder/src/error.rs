//! What a request can fail with: what the client is told of it, and what the log.

use std::{error::Error as _, iter, sync::Arc};

use axum::{
    http::{HeaderValue, StatusCode, header::WWW_AUTHENTICATE},
    response::{IntoResponse, Response},
};
use sqlx::error::BoxDynError;
use thiserror::Error;
use tracing::error;

use crate::problem::problem;

/// Why a request has failed: what a handler returns as the `Err` of its `Result`.
#[derive(Debug, Error)]
pub enum Error {
    /// The client has to ask for something else, or in another way: `detail` says so to a person.
    #[error("{detail}")]
    Refused { status: StatusCode, detail: String },
    /// The database cannot be reached, takes too long, or has no tables yet.
    #[error("the database does not answer")]
    Unavailable(#[source] BoxDynError),
    /// The database rejects a query: the bug is in this service.
    #[error("a query failed")]
    Query(#[source] sqlx::Error),
    /// A handler has panicked: the bug is in this service.
    #[error("a handler has panicked")]
    Panicked,
}

/// The error of a client: its status, 400 to 499, and what to tell a person.
pub fn refused(status: StatusCode, detail: impl Into<String>) -> Error {
    let detail = detail.into();
    Error::Refused { status, detail }
}

impl Error {
    fn status(&self) -> StatusCode {
        match self {
            Error::Refused { status, .. } => *status,
            Error::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
            Error::Query(_) | Error::Panicked => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// Logs a failure of the service, with its causes. A client's mistakes are told to the client.
    pub fn log(&self, request_id: &str) {
        if self.status().is_server_error() {
            let causes = iter::successors(self.source(), |&cause| cause.source());
            let causes: Vec<String> = causes.map(|cause| cause.to_string()).collect();
            error!(request_id, "{self}: {}", causes.join(": "));
        }
    }
}

/// Makes an `Error` something that a handler can return. It goes along with the answer: `answering.rs`
/// knows the request's id, and logs it.
impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let status = self.status();
        let mut response = match status {
            // A client has no business with SQL, hosts or users.
            StatusCode::INTERNAL_SERVER_ERROR => problem(status, "an unexpected error occurred"),
            _ => problem(status, &self.to_string()),
        };
        if status == StatusCode::UNAUTHORIZED {
            let challenge = HeaderValue::from_static("ApiKey");
            response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
        }
        response.extensions_mut().insert(Arc::new(self));
        response
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
