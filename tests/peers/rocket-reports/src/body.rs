//! The request body: JSON of a known shape, limited in size and in the time it takes to arrive.

use std::time::Duration;

use rocket::{
    Data, Request, async_trait,
    data::{self, FromData, ToByteUnit},
    http::Status,
};
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use crate::{
    error::{Error, refused},
    object::{self, Wrong},
};

/// The maximum size of a body, in bytes.
const MAX_BYTES: usize = 16 * 1024;

/// The maximum time for a client to send a body.
const MAX_TIME: Duration = Duration::from_secs(2);

/// A parsed body. Handlers take a `Result<Body<T>, Error>` to choose the error to report.
pub struct Body<T>(pub T);

#[async_trait]
impl<'r, T: DeserializeOwned> FromData<'r> for Body<T> {
    type Error = Error;

    async fn from_data(request: &'r Request<'_>, data: Data<'r>) -> data::Outcome<'r, Body<T>> {
        match read(request, data).await {
            Ok(value) => data::Outcome::Success(Body(value)),
            Err(error) => data::Outcome::Error((error.status(), error)),
        }
    }
}

async fn read<T: DeserializeOwned>(request: &Request<'_>, data: Data<'_>) -> Result<T, Error> {
    if !request
        .content_type()
        .is_some_and(|media_type| media_type.is_json())
    {
        let detail = "the body must be application/json";
        return Err(refused(Status::UnsupportedMediaType, detail));
    }
    let body = data.open(MAX_BYTES.bytes()).into_bytes();
    let Ok(body) = timeout(MAX_TIME, body).await else {
        let detail = "the body did not arrive in time";
        return Err(refused(Status::RequestTimeout, detail));
    };
    let unreadable = |_| refused(Status::BadRequest, "the body ended too early");
    let body = body.map_err(unreadable)?;
    if !body.is_complete() {
        let detail = format!("the body must not be larger than {MAX_BYTES} bytes");
        return Err(refused(Status::PayloadTooLarge, detail));
    }
    object::read(&body).map_err(|wrong| match wrong {
        Wrong::Malformed(detail) => refused(Status::BadRequest, detail),
        Wrong::Unusable(detail) => refused(Status::UnprocessableEntity, detail),
    })
}
