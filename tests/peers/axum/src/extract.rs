//! Extractors that reject with problem details; axum's own ones reject with plain text.

use axum::{
    Json,
    extract::{FromRequest, FromRequestParts, Path, Query, Request},
    http::request::Parts,
};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::timeout;

use crate::{error::Error, settings::SENDING};

/// The decoded query parameters, in their original order.
pub type Parameters = Vec<(String, String)>;

/// The first parameter with this name; any others are ignored.
pub fn first<'a>(parameters: &'a Parameters, name: &str) -> Option<&'a str> {
    let mut parameters = parameters.iter();
    let (_, value) = parameters.find(|(found, _)| found == name)?;
    Some(value)
}

// ANCHOR: id
/// The `{id}` of the path.
pub struct Id(pub i32);

impl<S: Send + Sync> FromRequestParts<S> for Id {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Id, Error> {
        match Path::from_request_parts(parts, state).await {
            Ok(Path(id)) => Ok(Id(id)),
            Err(_rejection) => Err(Error::BadRequest("id must be a 32-bit integer")),
        }
    }
}
// ANCHOR_END: id

/// The page that a client requests: at most `limit` records, with ids greater than `after`.
pub struct PageQuery {
    pub after: i32,
    pub limit: u16,
}

impl<S: Send + Sync> FromRequestParts<S> for PageQuery {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<PageQuery, Error> {
        let Query(parameters) = Query::<Parameters>::from_request_parts(parts, state)
            .await
            .map_err(|_| Error::BadRequest("the query is malformed"))?;
        let after = first(&parameters, "after").map_or(Ok(0), str::parse);
        let limit = first(&parameters, "limit").map_or(Ok(100), str::parse);
        let (Ok(after), limit) = (after, limit.ok().filter(|limit| (1..=1000).contains(limit)))
        else {
            return Err(Error::BadRequest("after must be a 32-bit integer"));
        };
        let Some(limit) = limit else {
            let detail = "limit must be a whole number from 1 to 1000";
            return Err(Error::BadRequest(detail));
        };
        Ok(PageQuery { after, limit })
    }
}

/// The id after which an export begins. The default is lower than every id.
pub struct After(pub i64);

impl<S: Send + Sync> FromRequestParts<S> for After {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<After, Error> {
        let Query(parameters) = Query::<Parameters>::from_request_parts(parts, state)
            .await
            .map_err(|_| Error::BadRequest("the query is malformed"))?;
        let Some(after) = first(&parameters, "after") else {
            return Ok(After(i64::MIN));
        };
        let after: Result<i32, _> = after.parse();
        match after {
            Ok(id) => Ok(After(id.into())),
            Err(_) => Err(Error::BadRequest("after must be a 32-bit integer")),
        }
    }
}

/// A JSON object, received within the time limit. If names repeat, the last member counts.
pub struct JsonObject<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for JsonObject<T> {
    type Rejection = Error;

    async fn from_request(request: Request, state: &S) -> Result<JsonObject<T>, Error> {
        // Parsed as a `Value` first: otherwise, a wrong shape could hide a later syntax error.
        let body = Json::<Value>::from_request(request, state);
        let Ok(body) = timeout(SENDING, body).await else {
            return Err(Error::RequestTooSlow);
        };
        let Json(json) = body?;
        // By itself, serde would also accept an array of the field values.
        if !json.is_object() {
            return Err(Error::UnusableBody);
        }
        match T::deserialize(json) {
            Ok(object) => Ok(JsonObject(object)),
            Err(_) => Err(Error::UnusableBody),
        }
    }
}
