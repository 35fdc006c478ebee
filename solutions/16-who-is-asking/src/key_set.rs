//! The keys of the issuer that this service accepts.

use std::{collections::HashMap, sync::Arc};

use jsonwebtoken::{
    Algorithm, DecodingKey, DecodingKeyKind,
    jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyAlgorithm, KeyOperations, PublicKeyUse},
};
use rocket::serde::json::serde_json::{self, Value};

/// The minimum size of an RSA key, in bytes: RFC 7518 requires 2048 bits.
const MIN_RSA_BYTES: usize = 2048 / 8;

/// A key that verifies access tokens, and the only algorithm that the key is used with.
pub struct Key {
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
    let about = &jwk.common;
    let for_signatures = matches!(about.public_key_use, None | Some(PublicKeyUse::Signature));
    let operations = about.key_operations.as_ref();
    let verifies = operations.is_none_or(|all| all.contains(&KeyOperations::Verify));

    let algorithm = match &jwk.algorithm {
        AlgorithmParameters::RSA(_) => Algorithm::RS256,
        AlgorithmParameters::EllipticCurve(key) if key.curve == EllipticCurve::P256 => {
            Algorithm::ES256
        }
        AlgorithmParameters::OctetKeyPair(key) if key.curve == EllipticCurve::Ed25519 => {
            Algorithm::EdDSA
        }
        // A published symmetric key isn't secret, and other curves aren't supported.
        _ => return None,
    };
    let agrees = about
        .key_algorithm
        .is_none_or(|said| said == KeyAlgorithm::from(algorithm));

    let decoding = DecodingKey::from_jwk(jwk).ok()?;
    let long_enough = match decoding.kind() {
        DecodingKeyKind::RsaModulusExponent { n, .. } => n.len() >= MIN_RSA_BYTES,
        DecodingKeyKind::SecretOrDer(_) => true,
    };
    let kid = about.key_id.clone()?;
    let key = Arc::new(Key {
        algorithm,
        decoding,
    });
    (for_signatures && verifies && agrees && long_enough).then_some((kid, key))
}
// ANCHOR_END: key-set
