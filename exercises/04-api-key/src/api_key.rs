//! The API key: the valid keys, the guard that lets a request with one pass, and the answer to all
//! others.

use rocket::{
    Request, catch,
    http::Header,
    request::{FromRequest, Outcome},
    response::Responder,
};

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
        let (bytes, keys) = (key.len(), self.0.len());
        todo!("compare these {bytes} bytes with each of {keys} keys, in constant time")
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
        let header = request.headers().contains("X-API-Key");
        todo!("decide whether this request may go on (it has the header: {header})")
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
    todo!("the problem for the missing key, and the header WWW-Authenticate")
}
// ANCHOR_END: unauthorized
