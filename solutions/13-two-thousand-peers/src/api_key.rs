//! The API key: the valid keys, the guard that lets a request with one pass, and the answer to all
//! others.

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

    /// Whether this is one of the keys. It is compared with all of them, to the last byte, so the
    /// time that this takes doesn't reveal how close a guess is.
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
/// The proof that a request has a valid key: a handler that takes one runs only then.
/// Its field is private, so only the guard below can make one.
pub struct ApiKey(());

/// Why a request was refused. Rocket logs this in its debug form, so it contains no key.
#[derive(Debug)]
pub enum Refused {
    /// There is neither the header nor the query parameter.
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

/// The value of `?api_key=…`, decoded. Rocket's own `query_fields` would take `api_key[0]` and
/// `api_key.x` for the same name, as forms need it.
fn in_query<'r>(request: &'r Request<'_>) -> Option<&'r str> {
    let mut parameters = request.uri().query()?.segments();
    parameters
        .find(|(name, _)| *name == "api_key")
        .map(|(_, value)| value)
}
// ANCHOR_END: guard

// ANCHOR: unauthorized
/// A problem, with the header that every 401 must have: it says how to authenticate.
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
