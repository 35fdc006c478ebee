//! The request body: JSON of a known shape, limited in size and in the time it takes to arrive.

use std::time::Duration;

use axum::{
    body::Bytes,
    extract::{FromRequest, Request},
    http::{HeaderMap, StatusCode, header},
};
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use crate::{
    Service,
    error::{Error, refused},
    object::{self, Wrong},
};

/// The maximum size of a body, in bytes.
pub const MAX_BYTES: usize = 16 * 1024;

/// The maximum time for a client to send a body.
const MAX_TIME: Duration = Duration::from_secs(2);

/// A parsed body.
pub struct Body<T>(pub T);

impl<T: DeserializeOwned> FromRequest<Service> for Body<T> {
    type Rejection = Error;

    async fn from_request(request: Request, service: &Service) -> Result<Body<T>, Error> {
        if !is_json(request.headers()) {
            let detail = "the body must be application/json";
            return Err(refused(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail));
        }
        let Ok(body) = timeout(MAX_TIME, Bytes::from_request(request, service)).await else {
            let detail = "the body did not arrive in time";
            return Err(refused(StatusCode::REQUEST_TIMEOUT, detail));
        };
        let body = body.map_err(|rejection| refused(rejection.status(), rejection.body_text()))?;
        object::read(&body).map(Body).map_err(|wrong| match wrong {
            Wrong::Malformed(detail) => refused(StatusCode::BAD_REQUEST, detail),
            Wrong::Unusable(detail) => refused(StatusCode::UNPROCESSABLE_ENTITY, detail),
        })
    }
}

/// Whether a body is declared as JSON; parameters of the media type are ignored.
fn is_json(headers: &HeaderMap) -> bool {
    let value = headers
        .get(header::CONTENT_TYPE)
        .map(|value| value.to_str());
    let media_type = value
        .and_then(Result::ok)
        .and_then(|value| value.split(';').next());
    media_type.is_some_and(|media_type| media_type.trim().eq_ignore_ascii_case("application/json"))
}
