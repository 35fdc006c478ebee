//! The API key: which keys count, and the guard that lets a request pass with one.

use std::{collections::HashSet, sync::Arc};

use rocket::{
    Request, async_trait,
    http::Status,
    request::{FromRequest, Outcome},
};
use sha2::{Digest, Sha256};

/// The hash of a key, in memory and in the database: nobody gets a key back out of it.
type Fingerprint = [u8; 32];

/// The configured keys. Neither their fingerprints nor the time to compare those reveals how
/// close a guess is.
#[derive(Clone)]
pub struct ApiKeys(Arc<HashSet<Fingerprint>>);

impl ApiKeys {
    /// Keys between commas; `None` when one is empty, since an empty header would then be a valid key.
    pub fn parse(keys: &str) -> Option<ApiKeys> {
        let keys = keys.split(',').map(str::trim);
        let fingerprints = keys.map(|key| (!key.is_empty()).then(|| fingerprint(key)));
        let fingerprints: Option<HashSet<Fingerprint>> = fingerprints.collect();
        Some(ApiKeys(Arc::new(fingerprints?)))
    }
}

fn fingerprint(key: &str) -> Fingerprint {
    Sha256::digest(key).into()
}

/// The client: the fingerprint of a valid key. A handler that takes it first runs only with such a key.
pub struct Client(pub Fingerprint);

#[async_trait]
impl<'r> FromRequest<'r> for Client {
    type Error = ();

    async fn from_request(request: &'r Request<'_>) -> Outcome<Client, ()> {
        let key = request.headers().get_one("X-API-Key").map(fingerprint);
        let keys = request.rocket().state::<ApiKeys>();
        match key.filter(|key| keys.is_some_and(|keys| keys.0.contains(key))) {
            Some(key) => Outcome::Success(Client(key)),
            // `catchers.rs` answers.
            None => Outcome::Error((Status::Unauthorized, ())),
        }
    }
}
