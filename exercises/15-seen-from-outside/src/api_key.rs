//! The API key: the valid keys, the request guard that lets only requests with a valid key
//! pass, and the answer to all other requests.

use rocket::{
    Request, catch,
    http::{Header, Status},
    request::{FromRequest, Outcome},
    response::Responder,
};
use subtle::{Choice, ConstantTimeEq};

use crate::problem::Problem;

// ANCHOR: keys
/// The configured keys. No `Debug`: they are secrets.
pub struct ApiKeys(Vec<String>);

impl ApiKeys {
    /// Accepts these keys, and no others.
    pub fn new(keys: Vec<String>) -> ApiKeys {
        ApiKeys(keys)
    }

    /// Whether this is one of the keys. Compares it with every key in constant time, to the last
    /// byte, so that the time taken doesn't reveal how close a guess is.
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
/// Proof that a request has a valid key: a handler that takes an `ApiKey` runs only with one.
/// The field is private, so only the guard below can create an `ApiKey`.
pub struct ApiKey(());

/// Why a request was refused. Rocket logs this in its debug form, so it contains no key.
#[derive(Debug)]
pub enum Refused {
    /// The request has neither the header nor the query parameter.
    Missing,
    /// The key isn't one of the configured keys.
    Wrong,
    /// `main.rs` manages no `ApiKeys`.
    NotConfigured,
}

#[rocket::async_trait]
impl<'r> FromRequest<'r> for ApiKey {
    type Error = Refused;

    async fn from_request(request: &'r Request<'_>) -> Outcome<ApiKey, Refused> {
        let Some(keys) = request.rocket().state::<ApiKeys>() else {
            return Outcome::Error((Status::InternalServerError, Refused::NotConfigured));
        };
        // The query parameter counts only if there is no header.
        let header = request.headers().get_one("X-API-Key");
        match header.or_else(|| in_query(request)) {
            Some(key) if keys.accept(key) => Outcome::Success(ApiKey(())),
            Some(_) => Outcome::Error((Status::Unauthorized, Refused::Wrong)),
            None => Outcome::Error((Status::Unauthorized, Refused::Missing)),
        }
    }
}

/// The decoded value of `?api_key=…`. Rocket's own `query_fields` would treat `api_key[0]` and
/// `api_key.x` as the same name, because nested form fields are named like this.
fn in_query<'r>(request: &'r Request<'_>) -> Option<&'r str> {
    let mut parameters = request.uri().query()?.segments();
    parameters
        .find(|(name, _)| *name == "api_key")
        .map(|(_, value)| value)
}
// ANCHOR_END: guard

// ANCHOR: unauthorized
/// A problem with the `WWW-Authenticate` challenge that every 401 must have.
#[derive(Responder)]
pub struct Unauthorized {
    problem: Problem,
    challenge: Header<'static>,
}

/// Answers when the guard has refused a request.
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
