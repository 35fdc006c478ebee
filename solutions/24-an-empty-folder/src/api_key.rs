//! API keys: the configured keys, and an extractor that rejects requests without a valid one.

use std::{collections::HashSet, sync::Arc};

use axum::{
    extract::FromRequestParts,
    http::{StatusCode, request::Parts},
};
use sha2::{Digest, Sha256};

use crate::{
    Service,
    error::{Error, refused},
};

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
        let fingerprints = keys.map(|key| (!key.is_empty()).then(|| fingerprint(key.as_bytes())));
        let fingerprints: Option<HashSet<Fingerprint>> = fingerprints.collect();
        Some(ApiKeys(Arc::new(fingerprints?)))
    }
}

fn fingerprint(key: &[u8]) -> Fingerprint {
    Sha256::digest(key).into()
}

/// An authenticated client. It's each handler's first extractor, so the key is checked first.
pub struct Client(pub Fingerprint);

impl FromRequestParts<Service> for Client {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, service: &Service) -> Result<Client, Error> {
        let key = parts.headers.get("X-API-Key");
        let client = key.map(|key| fingerprint(key.as_bytes()));
        let known = client.filter(|client| service.keys.0.contains(client));
        let detail = "a valid API key is required, in the header X-API-Key";
        known
            .map(Client)
            .ok_or_else(|| refused(StatusCode::UNAUTHORIZED, detail))
    }
}
