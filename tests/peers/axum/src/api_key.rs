//! API keys: the configured keys, and an extractor that rejects requests without a valid one.

use std::sync::Arc;

use axum::{
    extract::{FromRef, FromRequestParts, Query},
    http::request::Parts,
};
use subtle::{Choice, ConstantTimeEq};

use crate::{
    error::Error,
    extract::{Parameters, first},
};

/// The configured keys. `Debug` isn't implemented, because keys are secrets.
#[derive(Clone)]
pub struct ApiKeys(Arc<[String]>);

impl ApiKeys {
    /// An `ApiKeys` that accepts these keys, and no others.
    pub fn new(keys: &[String]) -> ApiKeys {
        ApiKeys(keys.into())
    }

    /// Whether `key` is one of the configured keys. Compares it with all of them in constant time,
    /// to the last byte, so that the time taken doesn't reveal how close a guess is.
    fn accept(&self, key: &[u8]) -> bool {
        self.0
            .iter()
            .map(|accepted| accepted.as_bytes().ct_eq(key))
            .fold(Choice::from(0), |found, equal| found | equal)
            .into()
    }
}

// ANCHOR: guard
/// Proof of a valid key: a handler that takes an `ApiKey` only runs if the request has one.
pub struct ApiKey(());

impl<S: Send + Sync> FromRequestParts<S> for ApiKey
where
    ApiKeys: FromRef<S>,
{
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<ApiKey, Error> {
        let keys = ApiKeys::from_ref(state);
        // The query parameter is used only if the header is missing.
        let accepted = match parts.headers.get("X-API-Key") {
            Some(header) => keys.accept(header.as_bytes()),
            None => in_query(parts).is_some_and(|key| keys.accept(key.as_bytes())),
        };
        if accepted {
            Ok(ApiKey(()))
        } else {
            Err(Error::Unauthorized)
        }
    }
}

/// The value of `?api_key=…`, decoded.
fn in_query(parts: &Parts) -> Option<String> {
    let Query(parameters) = Query::<Parameters>::try_from_uri(&parts.uri).ok()?;
    first(&parameters, "api_key").map(str::to_owned)
}
// ANCHOR_END: guard
