//! The keys of the issuer that this service accepts.

use std::{collections::HashMap, sync::Arc};

use jsonwebtoken::{
    Algorithm, DecodingKey,
    jwk::{AlgorithmParameters, Jwk},
};
use rocket::serde::json::serde_json::{self, Value};

/// A key that verifies access tokens, and the only algorithm that the key is used with.
pub struct Key {
    #[expect(
        dead_code,
        reason = "delete this line once token.rs asks the key and not the token"
    )]
    pub algorithm: Algorithm,
    pub decoding: DecodingKey,
}

/// The keys from one response of the issuer, by key id.
#[derive(Default)]
pub struct KeySet(HashMap<String, Arc<Key>>);

// ANCHOR: key-set
impl KeySet {
    /// Keeps the usable keys of this set. An unusable key is skipped, without affecting the others.
    pub fn of(keys: Vec<Value>) -> KeySet {
        let keys = keys.into_iter().filter_map(|key| {
            let jwk = serde_json::from_value(key).ok()?;
            usable(&jwk)
        });
        KeySet(keys.collect())
    }

    pub fn get(&self, kid: &str) -> Option<Arc<Key>> {
        self.0.get(kid).cloned()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The key and its id, or `None` if the key has no id or can't be used to verify tokens.
fn usable(jwk: &Jwk) -> Option<(String, Arc<Key>)> {
    // Too permissive: most members of a JWK restrict its use, but this code ignores them.
    let algorithm = match &jwk.algorithm {
        AlgorithmParameters::RSA(_) => Algorithm::RS256,
        AlgorithmParameters::EllipticCurve(_) => Algorithm::ES256,
        AlgorithmParameters::OctetKeyPair(_) => Algorithm::EdDSA,
        _ => return None,
    };
    let decoding = DecodingKey::from_jwk(jwk).ok()?;
    let kid = jwk.common.key_id.clone()?;
    let key = Arc::new(Key {
        algorithm,
        decoding,
    });
    Some((kid, key))
}
// ANCHOR_END: key-set
