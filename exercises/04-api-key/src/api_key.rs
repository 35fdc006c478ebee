//! API keys: the configured keys, the request guard that admits only requests with one of them,
//! and the response to all other requests.

use rocket::{
    Request, catch,
    http::Header,
    request::{FromRequest, Outcome},
    response::Responder,
};

use crate::problem::Problem;

// ANCHOR: keys
/// The configured keys. `Debug` isn't implemented, because keys are secrets.
pub struct ApiKeys(Vec<String>);

impl ApiKeys {
    /// An `ApiKeys` that accepts these keys, and no others.
    pub fn new(keys: Vec<String>) -> ApiKeys {
        ApiKeys(keys)
    }

    /// Whether `key` is one of the configured keys. Compares it with all of them in constant time,
    /// to the last byte, so that the time taken doesn't reveal how close a guess is.
    fn accept(&self, key: &str) -> bool {
        let (bytes, keys) = (key.len(), self.0.len());
        todo!("compare these {bytes} bytes with each of {keys} keys, in constant time")
    }
}
// ANCHOR_END: keys

// ANCHOR: guard
/// Proof of a valid key: a handler that takes an `ApiKey` doesn't run for requests without one.
/// The field is private, so only the guard below can create an `ApiKey`.
pub struct ApiKey(());

/// Why a request was refused. Rocket logs the `Debug` output, so this type contains no key.
#[derive(Debug)]
pub enum Refused {
    /// The request has neither the header nor the query parameter.
    Missing,
    /// The key isn't one of the configured keys.
    Wrong,
    /// Rocket's managed state has no `ApiKeys`: `main.rs` must add them.
    NotConfigured,
}

#[rocket::async_trait]
impl<'r> FromRequest<'r> for ApiKey {
    type Error = Refused;

    async fn from_request(request: &'r Request<'_>) -> Outcome<ApiKey, Refused> {
        let header = request.headers().contains("X-API-Key");
        todo!("decide whether this request may go on (it has the header: {header})")
    }
}

/// The decoded value of `?api_key=…`. Rocket's own `query_fields` would also treat
/// `api_key[0]` and `api_key.x` as `api_key`, because it parses them as nested fields.
fn in_query<'r>(request: &'r Request<'_>) -> Option<&'r str> {
    let mut parameters = request.uri().query()?.segments();
    parameters
        .find(|(name, _)| *name == "api_key")
        .map(|(_, value)| value)
}
// ANCHOR_END: guard

// ANCHOR: unauthorized
/// The problem details, and the `WWW-Authenticate` challenge that every 401 must include.
#[derive(Responder)]
pub struct Unauthorized {
    problem: Problem,
    challenge: Header<'static>,
}

/// Responds when the guard has refused a request.
#[catch(401)]
pub fn unauthorized() -> Unauthorized {
    todo!("the problem for the missing key, and the header WWW-Authenticate")
}
// ANCHOR_END: unauthorized
