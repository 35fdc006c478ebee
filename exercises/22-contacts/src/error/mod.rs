//! The reasons why a request can fail, and the problem details that clients get for them.

pub mod causes;
pub mod dav;
pub mod problem;
pub mod rate_limit;

use std::{
    mem::{Discriminant, discriminant},
    sync::LazyLock,
    time::{Duration, Instant},
};

use axum::{
    http::{
        HeaderValue, StatusCode,
        header::{ALLOW, WWW_AUTHENTICATE},
    },
    response::{IntoResponse, Response},
};
use sqlx::{error::BoxDynError, postgres::PgDatabaseError};
use thiserror::Error;
use tracing::{error, warn};

use self::{causes::with_causes, dav::DavError, problem::Problem, rate_limit::RateLimit};

// ANCHOR: error
/// The reason why a request failed. A handler returns it as the `Err` of its `Result`.
#[derive(Debug, Error)]
pub enum Error {
    /// The credentials are missing or wrong.
    #[error("a name and its password are required")]
    Unauthorized,
    /// The path belongs to another user.
    #[error("this belongs to another user")]
    Forbidden,
    /// The client has sent an invalid value.
    #[error("{0}")]
    BadRequest(&'static str),
    /// The requested record doesn't exist.
    #[error("{0}")]
    NotFound(&'static str),
    /// The path doesn't support the request's method, only the methods listed here.
    #[error("this path does not support that method")]
    MethodNotAllowed(&'static str),
    /// The client did not send its body in time.
    #[error("the body did not arrive in time")]
    ClientTooSlow,
    /// The client isn't reading the response, or has disconnected, so this error never reaches it.
    #[error("the client does not take the answer")]
    ClientGone,
    /// The request's precondition doesn't hold: the client expects a different version.
    #[error("the condition does not hold")]
    ConditionFailed,
    /// The body of the request is larger than this limit, in bytes.
    #[error("the body must not be larger than {0} bytes")]
    BodyTooLarge(usize),
    /// The body of the request has a media type or an encoding that the service doesn't support.
    #[error("{0}")]
    UnsupportedMediaType(&'static str),
    /// The request violates a WebDAV rule that has its own error element.
    #[error("a rule of WebDAV is broken")]
    Dav(DavError),
    /// The disk of the database server is full.
    #[error("there is no room for this")]
    Full(#[source] sqlx::Error),
    /// The migrations have not run, or a column that this release needs is gone.
    #[error("the schema is not up to date yet")]
    SchemaBehind,
    /// The database cannot be reached, refuses the login, or takes too long.
    #[error("the database does not answer")]
    Unavailable(#[source] BoxDynError),
    /// The task that writes the response has panicked.
    #[error("the answer was never written")]
    Panicked,
    /// The database rejects the query, because of a bug in this service.
    #[error("a query failed")]
    Query(#[source] sqlx::Error),
}

impl Error {
    /// The HTTP status of the response.
    pub fn status(&self) -> StatusCode {
        match self {
            Error::Unauthorized => StatusCode::UNAUTHORIZED,
            Error::Forbidden => StatusCode::FORBIDDEN,
            Error::BadRequest(_) => StatusCode::BAD_REQUEST,
            Error::NotFound(_) => StatusCode::NOT_FOUND,
            Error::MethodNotAllowed(_) => StatusCode::METHOD_NOT_ALLOWED,
            Error::ClientTooSlow | Error::ClientGone => StatusCode::REQUEST_TIMEOUT,
            Error::ConditionFailed => StatusCode::PRECONDITION_FAILED,
            Error::BodyTooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Error::UnsupportedMediaType(_) => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Error::Dav(error) => error.status(),
            Error::Full(_) => StatusCode::INSUFFICIENT_STORAGE,
            Error::SchemaBehind | Error::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
            Error::Panicked | Error::Query(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// Logs the errors that the operator has to know about. The other errors concern only clients.
    pub fn log(&self) {
        match self {
            Error::Query(_) => error!("{}", with_causes(self)),
            Error::SchemaBehind | Error::Unavailable(_) | Error::Full(_) => {
                if let Some(suppressed) = WARNINGS.admit(discriminant(self), Instant::now()) {
                    warn!(suppressed, "{}", with_causes(self));
                }
            }
            Error::Unauthorized
            | Error::Forbidden
            | Error::BadRequest(_)
            | Error::NotFound(_)
            | Error::MethodNotAllowed(_)
            | Error::ClientTooSlow
            | Error::ClientGone
            | Error::ConditionFailed
            | Error::BodyTooLarge(_)
            | Error::UnsupportedMediaType(_)
            | Error::Dav(_)
            | Error::Panicked => {}
        }
    }
}

/// During an outage all requests fail the same way: one line a second per reason is enough.
static WARNINGS: LazyLock<RateLimit<Discriminant<Error>>> =
    LazyLock::new(|| RateLimit::new(Duration::from_secs(1)));

/// Lets handlers return an `Error`. The response contains no details from the database:
/// clients must not see SQL, host names or user names.
impl IntoResponse for Error {
    fn into_response(self) -> Response {
        self.log();
        let detail = match &self {
            Error::Dav(error) => return error.to_response(),
            Error::Panicked | Error::Query(_) => "an unexpected error occurred".to_owned(),
            // The messages of these errors are meant for the client.
            Error::Unauthorized
            | Error::Forbidden
            | Error::BadRequest(_)
            | Error::NotFound(_)
            | Error::MethodNotAllowed(_)
            | Error::ClientTooSlow
            | Error::ClientGone
            | Error::ConditionFailed
            | Error::BodyTooLarge(_)
            | Error::UnsupportedMediaType(_)
            | Error::Full(_)
            | Error::SchemaBehind
            | Error::Unavailable(_) => self.to_string(),
        };
        let mut response = Problem::new(self.status(), detail).into_response();
        let headers = response.headers_mut();
        if let Error::Unauthorized = self {
            let challenge = r#"Basic realm="contacts", charset="UTF-8""#;
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static(challenge));
        }
        if let Error::MethodNotAllowed(methods) = self {
            headers.insert(ALLOW, HeaderValue::from_static(methods));
        }
        response
    }
}
// ANCHOR_END: error

impl From<DavError> for Error {
    fn from(error: DavError) -> Error {
        Error::Dav(error)
    }
}

// ANCHOR: from-sqlx
/// Distinguishes an outage and a full disk from a rejected query. `?` calls this conversion.
impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Error {
        if is_outage(&error) {
            Error::Unavailable(error.into())
        } else if code_of(&error).as_deref() == Some("53100") {
            Error::Full(error)
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
        error => match code_of(error).as_deref() {
            // Read-only after a failover, table missing, out of memory, too many connections, not
            // accepting connections, lock not available, statement timed out.
            Some("25006" | "42P01" | "53200" | "53300" | "55000" | "55P03" | "57014") => true,
            // Connection lost, login refused, no such database, transaction rolled back, shutdown.
            Some(code) => ["08", "28", "3D", "40", "57P"]
                .iter()
                .any(|class| code.starts_with(class)),
            None => false,
        },
    }
}

/// Whether the schema has changed since the statement was prepared. The database then refuses to execute the statement.
pub fn is_stale_plan(error: &sqlx::Error) -> bool {
    match code_of(error).as_deref() {
        // No such prepared statement.
        Some("26000") => true,
        // By itself, this code means "feature not supported", which would be a bug in this service.
        Some("0A000") => routine_of(error) == Some("RevalidateCachedQuery"),
        _ => false,
    }
}

/// The function in PostgreSQL's source code that reported the error.
fn routine_of(error: &sqlx::Error) -> Option<&str> {
    let error = error.as_database_error()?;
    error.try_downcast_ref::<PgDatabaseError>()?.routine()
}

/// PostgreSQL's error code, as listed in "Appendix A. PostgreSQL Error Codes" of the manual.
pub fn code_of(error: &sqlx::Error) -> Option<String> {
    let code = error.as_database_error()?.code()?;
    Some(code.into_owned())
}
// ANCHOR_END: from-sqlx
