//! API keys: the configured keys, the request guard that admits only requests with one of them,
//! and the response to all other requests.

use rocket::{
    Request, catch,
    http::{Header, Status},
    request::{FromRequest, Outcome},
    response::Responder,
};
use subtle::{Choice, ConstantTimeEq};

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
        self.0
            .iter()
            .map(|accepted| accepted.as_bytes().ct_eq(key.as_bytes()))
            .fold(Choice::from(0), |found, equal| found | equal)
            .into()
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
        let Some(keys) = request.rocket().state::<ApiKeys>() else {
            return Outcome::Error((Status::InternalServerError, Refused::NotConfigured));
        };
        // The query parameter is used only if the header is missing.
        let header = request.headers().get_one("X-API-Key");
        match header.or_else(|| in_query(request)) {
            Some(key) if keys.accept(key) => Outcome::Success(ApiKey(())),
            Some(_) => Outcome::Error((Status::Unauthorized, Refused::Wrong)),
            None => Outcome::Error((Status::Unauthorized, Refused::Missing)),
        }
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
    Unauthorized {
        problem: Problem::new(
            Status::Unauthorized,
            "a valid API key is required, in the header X-API-Key or the query parameter api_key",
        ),
        challenge: Header::new("WWW-Authenticate", "ApiKey"),
    }
}
// ANCHOR_END: unauthorized
