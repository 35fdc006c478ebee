//! API keys: the configured keys, and a guard that rejects requests without a valid one.

use std::{collections::HashSet, sync::Arc};

use rocket::{
    Request, async_trait,
    http::Status,
    request::{FromRequest, Outcome},
};
use sha2::{Digest, Sha256};

/// The SHA-256 hash of a key, stored in memory and the database: it doesn't reveal the key.
type Fingerprint = [u8; 32];

/// The configured keys, as fingerprints: neither a fingerprint nor the time that it takes to
/// compare two of them reveals how close a guess is to a valid key.
#[derive(Clone)]
pub struct ApiKeys(Arc<HashSet<Fingerprint>>);

impl ApiKeys {
    /// Parses comma-separated keys. `None` if one is empty: it would make an empty header valid.
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

/// An authenticated client. It's each handler's first extractor, so the key is checked first.
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
