//! The errors of a request: the response that the client gets, and the entry in the log.

use std::{
    error::Error as _,
    iter,
    mem::{Discriminant, discriminant},
    sync::LazyLock,
    time::{Duration, Instant},
};

use axum::{
    extract::rejection::JsonRejection,
    http::{HeaderValue, StatusCode, header::WWW_AUTHENTICATE},
    response::{IntoResponse, Response},
};
use sqlx::{error::BoxDynError, postgres::PgDatabaseError};
use thiserror::Error;
use tracing::{error, warn};

use crate::{
    problem::Problem,
    rate_limit::RateLimit,
    settings::{MAX_BODY_BYTES, MAX_IDS},
};

/// The reason why a request failed. A handler returns it as the `Err` of its `Result`.
#[derive(Debug, Error)]
pub enum Error {
    /// The key is missing or wrong.
    #[error("a valid API key is required, in the header X-API-Key or the query parameter api_key")]
    Unauthorized,
    /// The request has no token, and its API key is missing or wrong.
    #[error(
        "an access token is required, in the header Authorization, or a valid API key, in the header X-API-Key or the query \
         parameter api_key"
    )]
    NoCredentials,
    /// The token is invalid. The response is the same for every reason.
    #[error("the access token is not valid")]
    TokenRefused,
    /// The token is valid, but lacks this scope.
    #[error("the access token lacks the scope {0}")]
    ScopeMissing(&'static str),
    /// There is more than one `Authorization` header, or one without a token.
    #[error("the header Authorization must be there once, with one token")]
    NotOneToken,
    /// No key is available to verify tokens with.
    #[error("the keys of the issuer are not available")]
    KeysUnavailable,
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
    /// The request has not arrived in time.
    #[error("the request did not arrive in time")]
    RequestTooSlow,
    /// The client reads the export too slowly, or has stopped reading.
    #[error("the client did not take the export in time")]
    ClientTooSlow,
    /// The requested record doesn't exist.
    #[error("{0}")]
    NotFound(String),
    /// The path exists, but doesn't support this method.
    #[error("this path does not support that method")]
    MethodNotAllowed,
    /// The maximum number of exports is already running.
    #[error("too many exports are running")]
    TooManyExports,
    /// The migrations have not run, or a column that this release needs is gone.
    #[error("the schema is not up to date yet")]
    SchemaBehind,
    /// The database cannot be reached, refuses the login, or takes too long.
    #[error("the database does not answer")]
    Unavailable(#[source] BoxDynError),
    /// All permits for calls to the price service are taken, and none was released in time.
    #[error("too many requests wait for prices")]
    TooManyCalls,
    /// The call for the price, or the whole request, has taken too long.
    #[error("the price did not come in time")]
    PriceTooLate,
    /// The price service cannot be reached, or its response is unusable.
    #[error("the price service gave no usable answer: {0}")]
    NoPrice(String),
    /// The database rejects the query, because of a bug in this service.
    #[error("a query failed")]
    Query(#[source] sqlx::Error),
    /// A record can't be serialized, because of a bug in this service.
    #[error("cannot write JSON")]
    Json(#[from] serde_json::Error),
    /// The metrics cannot be encoded as text, which is a bug in this service.
    #[error("cannot write the metrics")]
    Metrics(#[from] prometheus::Error),
    /// A handler has panicked: the bug is in this service.
    #[error("a handler has panicked")]
    Panicked,
}

/// How an error is logged.
enum Log {
    /// Not logged, because the response already contains the whole reason.
    Nothing,
    /// The error may be transient. Logged at a limited rate: in an outage, all requests fail.
    Warning,
    /// The error is a bug in this service.
    Error,
}

impl Error {
    /// The status of the response, how the error is logged, and the detail for the client.
    ///
    /// Details from the database appear only in the log: clients must not see SQL, host names
    /// or user names.
    fn becomes(&self) -> (StatusCode, Log, String) {
        let text = self.to_string();
        match self {
            Error::BadRequest(_) | Error::NotOneToken => {
                (StatusCode::BAD_REQUEST, Log::Nothing, text)
            }
            Error::Unauthorized | Error::NoCredentials | Error::TokenRefused => {
                (StatusCode::UNAUTHORIZED, Log::Nothing, text)
            }
            Error::ScopeMissing(_) => (StatusCode::FORBIDDEN, Log::Nothing, text),
            Error::NotFound(_) => (StatusCode::NOT_FOUND, Log::Nothing, text),
            Error::MethodNotAllowed => (StatusCode::METHOD_NOT_ALLOWED, Log::Nothing, text),
            Error::RequestTooSlow | Error::ClientTooSlow => {
                (StatusCode::REQUEST_TIMEOUT, Log::Nothing, text)
            }
            Error::BodyTooLarge => (StatusCode::PAYLOAD_TOO_LARGE, Log::Nothing, text),
            Error::UnsupportedMediaType => (StatusCode::UNSUPPORTED_MEDIA_TYPE, Log::Nothing, text),
            Error::UnusableBody => (StatusCode::UNPROCESSABLE_ENTITY, Log::Nothing, text),
            Error::SchemaBehind
            | Error::Unavailable(_)
            | Error::TooManyExports
            | Error::TooManyCalls
            | Error::KeysUnavailable => (StatusCode::SERVICE_UNAVAILABLE, Log::Warning, text),
            Error::PriceTooLate => (StatusCode::GATEWAY_TIMEOUT, Log::Warning, text),
            Error::NoPrice(_) => {
                let text = "the price service gave no usable answer".into();
                (StatusCode::BAD_GATEWAY, Log::Warning, text)
            }
            Error::Query(_) | Error::Json(_) | Error::Metrics(_) | Error::Panicked => {
                let text = "an unexpected error occurred".into();
                (StatusCode::INTERNAL_SERVER_ERROR, Log::Error, text)
            }
        }
    }

    /// The `WWW-Authenticate` challenges for the client (RFC 6750, section 3).
    fn challenges(&self) -> Vec<HeaderValue> {
        let of_a_scope;
        let challenges: &[&str] = match self {
            Error::Unauthorized => &["ApiKey"],
            Error::NoCredentials => &["Bearer realm=\"records\"", "ApiKey"],
            Error::TokenRefused => &["Bearer realm=\"records\", error=\"invalid_token\""],
            Error::NotOneToken => &["Bearer realm=\"records\", error=\"invalid_request\""],
            Error::ScopeMissing(scope) => {
                of_a_scope = format!(
                    "Bearer realm=\"records\", error=\"insufficient_scope\", scope=\"{scope}\""
                );
                &[of_a_scope.as_str()]
            }
            _ => &[],
        };
        let challenges = challenges.iter().map(|text| HeaderValue::from_str(text));
        challenges.filter_map(Result::ok).collect()
    }

    /// The problem to send to the client.
    pub fn problem(&self) -> Problem {
        let (status, _log, detail) = self.becomes();
        Problem::new(status, detail)
    }

    /// The error and its causes, on one line.
    pub fn with_causes(&self) -> String {
        let mut line = self.to_string();
        for cause in iter::successors(self.source(), |&cause| cause.source()) {
            let cause = cause.to_string();
            // The messages of many sqlx errors already end with the message of their cause.
            if !line.ends_with(&cause) {
                line = format!("{line}: {cause}");
            }
        }
        line
    }
}

/// During an outage all requests fail the same way: one line a second per reason is enough.
static WARNINGS: LazyLock<RateLimit<Discriminant<Error>>> =
    LazyLock::new(|| RateLimit::new(Duration::from_secs(1)));

// ANCHOR: into-response
/// Lets a handler return an `Error`.
impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let (status, log, detail) = self.becomes();
        match log {
            Log::Nothing => {}
            Log::Warning => {
                if let Some(suppressed) = WARNINGS.admit(discriminant(&self), Instant::now()) {
                    warn!(suppressed, "{}", self.with_causes());
                }
            }
            Log::Error => error!("{}", self.with_causes()),
        }
        let mut response = Problem::new(status, detail).into_response();
        for challenge in self.challenges() {
            response.headers_mut().append(WWW_AUTHENTICATE, challenge);
        }
        response
    }
}
// ANCHOR_END: into-response

/// Distinguishes invalid JSON from valid JSON that doesn't have the expected shape.
impl From<JsonRejection> for Error {
    fn from(rejection: JsonRejection) -> Error {
        match rejection {
            JsonRejection::MissingJsonContentType(_) => Error::UnsupportedMediaType,
            JsonRejection::JsonDataError(_) => Error::UnusableBody,
            rejection if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE => Error::BodyTooLarge,
            _ => Error::BadRequest("the body must be JSON"),
        }
    }
}

/// Takes the reason from the innermost cause: the outer errors say only that a request failed.
impl From<reqwest::Error> for Error {
    fn from(error: reqwest::Error) -> Error {
        let causes = iter::successors(error.source(), |&cause| cause.source());
        let reason = causes.last().map(|cause| cause.to_string());
        Error::NoPrice(reason.unwrap_or_else(|| error.to_string()))
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
