//! The reasons why a request can fail, and the problem details that clients get for them.

use std::io::ErrorKind;

use rocket::{
    Request, error,
    http::Status,
    response::{self, Responder},
    serde::json::{self, serde_json},
    tokio::task::JoinError,
};
use serde::de::IgnoredAny;
use sqlx::{error::BoxDynError, postgres::PgDatabaseError};
use thiserror::Error;

use crate::{
    causes::with_causes,
    problem::Problem,
    settings::{MAX_BODY_BYTES, MAX_IDS},
};

// ANCHOR: error
/// The reason why a request failed. A handler returns it as the `Err` of its `Result`.
#[derive(Debug, Error)]
pub enum Error {
    /// The client has sent an invalid value.
    #[error("{0}")]
    BadRequest(&'static str),
    /// The content type of the request isn't JSON.
    #[error("the body must be application/json")]
    UnsupportedMediaType,
    /// The body of the request exceeds the size limit.
    #[error("the body must not be larger than {MAX_BODY_BYTES} bytes")]
    BodyTooLarge,
    /// The body of the request is JSON, but doesn't have the expected shape.
    #[error("the body must be {{\"ids\": […]}} with at most {MAX_IDS} 32-bit integers")]
    UnusableBody,
    /// The maximum number of exports is already running.
    #[error("too many exports are running")]
    TooManyExports,
    /// The client reads the export too slowly, or has stopped reading.
    #[error("the client did not take the export in time")]
    ClientTooSlow,
    /// The requested record doesn't exist.
    #[error("{0}")]
    NotFound(String),
    /// The migrations have not run, or a column that this release needs is gone.
    #[error("the schema is not up to date yet")]
    SchemaBehind,
    /// The database cannot be reached, refuses the login, or takes too long.
    #[error("the database does not answer")]
    Unavailable(#[source] BoxDynError),
    /// The database rejects the query, because of a bug in this service.
    #[error("a query failed")]
    Query(#[source] sqlx::Error),
    /// A record can't be serialized, because of a bug in this service.
    #[error("cannot write JSON")]
    Json(#[from] serde_json::Error),
    /// A task has panicked, because of a bug in this service.
    #[error("a task has panicked")]
    Panicked(#[source] JoinError),
}

impl Error {
    /// The problem to send to the client, without details from the database: clients must not see
    /// SQL, host names or user names.
    pub fn problem(&self) -> Problem {
        let status = match self {
            Error::BadRequest(_) => Status::BadRequest,
            Error::UnsupportedMediaType => Status::UnsupportedMediaType,
            Error::BodyTooLarge => Status::PayloadTooLarge,
            Error::UnusableBody => Status::UnprocessableEntity,
            Error::NotFound(_) => Status::NotFound,
            Error::ClientTooSlow => Status::RequestTimeout,
            Error::SchemaBehind | Error::Unavailable(_) | Error::TooManyExports => {
                Status::ServiceUnavailable
            }
            Error::Query(_) | Error::Json(_) | Error::Panicked(_) => Status::InternalServerError,
        };
        let detail = match self {
            Error::Unavailable(_) => "the database does not answer".into(),
            Error::Query(_) | Error::Json(_) | Error::Panicked(_) => {
                "an unexpected error occurred".into()
            }
            // The messages of these errors are meant for the client.
            Error::BadRequest(_)
            | Error::UnsupportedMediaType
            | Error::BodyTooLarge
            | Error::UnusableBody
            | Error::TooManyExports
            | Error::ClientTooSlow
            | Error::NotFound(_)
            | Error::SchemaBehind => self.to_string(),
        };
        Problem::new(status, detail)
    }
}

/// Lets a handler return an `Error`.
impl<'r> Responder<'r, 'static> for Error {
    fn respond_to(self, request: &'r Request<'_>) -> response::Result<'static> {
        // Outages aren't logged here: each failed request would log the same line. See exercise 8.
        if let Error::Query(_) | Error::Json(_) | Error::Panicked(_) = self {
            error!("{}", with_causes(&self));
        }
        self.problem().respond_to(request)
    }
}
// ANCHOR_END: error

// ANCHOR: from-json
/// Distinguishes invalid JSON from valid JSON that doesn't have the expected shape.
impl From<json::Error<'_>> for Error {
    fn from(error: json::Error<'_>) -> Error {
        match error {
            // Rocket stops reading at the size limit, which is set in `settings.rs`.
            json::Error::Io(error) if error.kind() == ErrorKind::UnexpectedEof => {
                Error::BodyTooLarge
            }
            // serde stops at the first value of the wrong type, so check whether the whole body is JSON.
            json::Error::Parse(text, _) if serde_json::from_str::<IgnoredAny>(text).is_ok() => {
                Error::UnusableBody
            }
            json::Error::Io(_) | json::Error::Parse(..) => {
                Error::BadRequest("the body must be JSON")
            }
        }
    }
}
// ANCHOR_END: from-json

// ANCHOR: from-sqlx
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

/// Whether the cause is the database rather than the query, so that a retry may succeed.
pub fn is_outage(error: &sqlx::Error) -> bool {
    match error {
        // The next attempt prepares the statement for the new schema.
        stale if is_stale_plan(stale) => true,
        sqlx::Error::PoolTimedOut | sqlx::Error::PoolClosed | sqlx::Error::Io(_) => true,
        // SQLSTATE codes, from "Appendix A. PostgreSQL Error Codes" of the PostgreSQL manual.
        sqlx::Error::Database(error) => match error.code().as_deref() {
            // Read-only after a failover, out of memory, too many connections, not accepting
            // connections, lock not available, query canceled.
            Some("25006" | "53200" | "53300" | "55000" | "55P03" | "57014") => true,
            // Connection lost, login refused, no such database, transaction rolled back, shutdown.
            Some(code) => ["08", "28", "3D", "40", "57P"]
                .iter()
                .any(|class| code.starts_with(class)),
            None => false,
        },
        _ => false,
    }
}
// ANCHOR_END: from-sqlx

// ANCHOR: stale-plan
/// Whether the schema has changed since the statement was prepared. In that case, the database
/// rejects the statement without having executed any of it.
pub fn is_stale_plan(error: &sqlx::Error) -> bool {
    let sqlx::Error::Database(error) = error else {
        return false;
    };
    match error.code().as_deref() {
        // No such prepared statement.
        Some("26000") => true,
        // By itself, this code means "feature not supported", which would be a bug in this service.
        Some("0A000") => {
            let error = error.try_downcast_ref::<PgDatabaseError>();
            error.and_then(PgDatabaseError::routine) == Some("RevalidateCachedQuery")
        }
        _ => false,
    }
}
// ANCHOR_END: stale-plan
