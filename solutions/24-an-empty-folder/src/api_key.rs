//! The API key: the valid keys, and the extractor that lets a request with one pass.

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
        let fingerprints = keys.map(|key| (!key.is_empty()).then(|| fingerprint(key.as_bytes())));
        let fingerprints: Option<HashSet<Fingerprint>> = fingerprints.collect();
        Some(ApiKeys(Arc::new(fingerprints?)))
    }
}

fn fingerprint(key: &[u8]) -> Fingerprint {
    Sha256::digest(key).into()
}

/// The client: the fingerprint of a valid key. A handler that takes it first runs only with such a key.
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
