//! The API key: from the header, or else the query, compared in constant time, as in the port.

use std::collections::HashMap;

use axum::{
    extract::{FromRequestParts, Query},
    http::{HeaderName, HeaderValue, StatusCode, header::WWW_AUTHENTICATE, request::Parts},
    response::{IntoResponse, Response},
};
use subtle::{Choice, ConstantTimeEq};

use crate::{Shared, problem::Problem};

const HEADER: HeaderName = HeaderName::from_static("x-api-key");

/// The accepted keys.
pub struct ApiKeys(Vec<String>);

impl ApiKeys {
    /// Accepts these keys, and no others.
    pub fn new(keys: Vec<String>) -> ApiKeys {
        ApiKeys(keys)
    }

    fn accept(&self, key: &[u8]) -> bool {
        self.0
            .iter()
            .map(|accepted| accepted.as_bytes().ct_eq(key))
            .fold(Choice::from(0), |found, equal| found | equal)
            .into()
    }
}

/// Proof that a request has a valid key.
pub struct ApiKey(());

impl FromRequestParts<Shared> for ApiKey {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, shared: &Shared) -> Result<ApiKey, Response> {
        let accepted = match parts.headers.get(HEADER) {
            Some(header) => shared.keys.accept(header.as_bytes()),
            None => in_query(parts).is_some_and(|key| shared.keys.accept(key.as_bytes())),
        };
        if accepted {
            Ok(ApiKey(()))
        } else {
            Err(unauthorized())
        }
    }
}

fn in_query(parts: &Parts) -> Option<String> {
    let Query(mut query) = Query::<HashMap<String, String>>::try_from_uri(&parts.uri).ok()?;
    query.remove("api_key")
}

fn unauthorized() -> Response {
    let problem = Problem::new(
        StatusCode::UNAUTHORIZED,
        "a valid API key is required, in the header X-API-Key or the query parameter api_key",
    );
    let challenge = [(WWW_AUTHENTICATE, HeaderValue::from_static("ApiKey"))];
    (challenge, problem).into_response()
}
