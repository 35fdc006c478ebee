//! The body of a request: JSON of a known form, not too large and not too slow.

use std::time::Duration;

use axum::{
    Json,
    extract::{FromRequest, Request, rejection::JsonRejection},
    http::StatusCode,
};
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use crate::{
    Service,
    error::{Error, refused},
};

/// The largest body that is read, in bytes.
pub const MAX_BYTES: usize = 16 * 1024;

/// The longest that a client may take to send it.
const MAX_TIME: Duration = Duration::from_secs(2);

/// What axum's `Json` does, within a time limit, and with problems for errors.
pub struct Body<T>(pub T);

impl<T: DeserializeOwned> FromRequest<Service> for Body<T> {
    type Rejection = Error;

    async fn from_request(request: Request, service: &Service) -> Result<Body<T>, Error> {
        match timeout(MAX_TIME, Json::from_request(request, service)).await {
            Ok(Ok(Json(value))) => Ok(Body(value)),
            Ok(Err(rejection)) => Err(rejection.into()),
            Err(_elapsed) => {
                let detail = "the body did not arrive in time";
                Err(refused(StatusCode::REQUEST_TIMEOUT, detail))
            }
        }
    }
}

/// axum's own words name the member that is wrong.
impl From<JsonRejection> for Error {
    fn from(rejection: JsonRejection) -> Error {
        refused(rejection.status(), rejection.body_text())
    }
}
