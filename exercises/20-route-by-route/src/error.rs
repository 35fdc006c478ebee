//! The reasons why a request can fail, and the problem details that clients get for them.

use std::error::Error as StdError;

use rocket::{
    Request,
    http::Status,
    response::{self, Responder},
};
use thiserror::Error;
use tracing::error;

use crate::{causes::with_causes, problem::Problem, text::MAX_TEXT_BYTES};

// ANCHOR: error
/// The reason why a request failed. A handler returns it as the `Err` of its `Result`.
#[derive(Debug, Error)]
pub enum Error {
    /// The text cannot be decoded.
    #[error("the request is malformed")]
    Malformed,
    /// The text is missing or empty.
    #[error("the query parameter text is missing or empty")]
    NoText,
    /// The text is longer than `MAX_TEXT_BYTES`.
    #[error("text must be at most {MAX_TEXT_BYTES} bytes of UTF-8, but has {0}")]
    TextTooLong(usize),
    /// No QR code can be drawn at the moment.
    #[error("no QR code")]
    Unavailable(#[source] Box<dyn StdError + Send + Sync>),
}

impl Error {
    /// The problem details for the client. The reason why there is no QR code is only logged.
    fn problem(&self) -> Problem {
        match self {
            Error::Unavailable(_) => {
                Problem::new(Status::ServiceUnavailable, "QR codes cannot be made now")
            }
            Error::Malformed | Error::NoText | Error::TextTooLong(_) => {
                Problem::new(Status::BadRequest, self.to_string())
            }
        }
    }
}

/// Lets a handler return an `Error`.
impl<'r> Responder<'r, 'static> for Error {
    fn respond_to(self, request: &'r Request<'_>) -> response::Result<'static> {
        match self {
            Error::Unavailable(_) => {
                error!("{}", with_causes(&self));
            }
            // Nothing to log: the response already gives the reason.
            Error::Malformed | Error::NoText | Error::TextTooLong(_) => {}
        }
        self.problem().respond_to(request)
    }
}
// ANCHOR_END: error
