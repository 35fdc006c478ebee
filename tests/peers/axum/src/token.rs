//! Verifies access tokens (RFC 9068): their signature, issuer, audience and expiration.

use std::{
    collections::HashSet,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use jsonwebtoken::{Algorithm, crypto::verify};
use serde_json::{Map, Value};

use crate::{
    issuer_keys::{IssuerKeys, KeysUnavailable},
    settings::TokenSettings,
};

/// The maximum length of a token, in bytes.
const MAX_TOKEN_BYTES: usize = 8192;

/// The subject of a token, and the scopes that it grants.
pub struct TokenHolder {
    pub subject: String,
    scopes: HashSet<String>,
}

impl TokenHolder {
    pub fn may(&self, scope: &str) -> bool {
        self.scopes.contains(scope)
    }
}

/// The reason why a token isn't accepted. It's logged, but not revealed to the client.
pub enum Refusal {
    Refused(&'static str),
    KeysUnavailable,
}

use Refusal::Refused;

impl From<KeysUnavailable> for Refusal {
    fn from(_: KeysUnavailable) -> Refusal {
        Refusal::KeysUnavailable
    }
}

// ANCHOR: token
/// Verifies tokens with the issuer's keys.
#[derive(Clone)]
pub struct Tokens(Arc<Judge>);

struct Judge {
    settings: TokenSettings,
    keys: Arc<IssuerKeys>,
}

impl Tokens {
    pub fn new(settings: TokenSettings, keys: Arc<IssuerKeys>) -> Tokens {
        Tokens(Arc::new(Judge { settings, keys }))
    }

    /// The token's holder. jsonwebtoken only verifies the signature; all other checks are here.
    pub async fn holder(&self, token: &str) -> Result<TokenHolder, Refusal> {
        if token.len() > MAX_TOKEN_BYTES {
            return Err(Refused("malformed"));
        }
        let parts = token
            .split('.')
            .map(|part| BASE64_URL_SAFE_NO_PAD.decode(part));
        let parts: Result<Vec<_>, _> = parts.collect();
        let parts = parts.map_err(|_| Refused("malformed"))?;
        let [header, payload, _signature] = &parts[..] else {
            return Err(Refused("malformed"));
        };
        let header = object(header).ok_or(Refused("malformed"))?;
        // Rejects critical extensions (RFC 7515, section 4.1.11): none of them is supported.
        if header.contains_key("crit") || header.contains_key("b64") {
            return Err(Refused("malformed"));
        }
        // An ID token has the same issuer and a valid signature, but isn't an access token.
        let typ = text(&header, "typ").map(str::to_ascii_lowercase);
        if !matches!(typ.as_deref(), Some("at+jwt" | "application/at+jwt")) {
            return Err(Refused("type"));
        }
        let id = text(&header, "kid").ok_or(Refused("key"))?;
        let key = self.0.keys.with_id(id).await?.ok_or(Refused("key"))?;
        if text(&header, "alg") != Some(name(key.algorithm)) {
            return Err(Refused("algorithm"));
        }
        let (signed, signature) = token.rsplit_once('.').ok_or(Refused("malformed"))?;
        let is_signed = verify(signature, signed.as_bytes(), &key.key, key.algorithm);
        if !is_signed.unwrap_or(false) {
            return Err(Refused("signature"));
        }
        let claims = object(payload).ok_or(Refused("malformed"))?;
        self.0.holder_in(&claims)
    }
}

impl Judge {
    fn holder_in(&self, claims: &Map<String, Value>) -> Result<TokenHolder, Refusal> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.map_or(0.0, |now| now.as_secs_f64());
        let leeway = self.settings.leeway.as_secs_f64();
        let seconds = |claim: &str| claims.get(claim).map(Value::as_f64);

        let is_before_its_end = matches!(seconds("exp"), Some(Some(end)) if now < end + leeway);
        let has_begun = match seconds("nbf") {
            None => true,
            Some(begin) => begin.is_some_and(|begin| now >= begin - leeway),
        };
        if !(is_before_its_end && has_begun) {
            return Err(Refused("time"));
        }
        if text(claims, "iss") != Some(&self.settings.issuer) {
            return Err(Refused("issuer"));
        }
        let audience = Value::from(self.settings.audience.as_str());
        let is_for_us = match claims.get("aud") {
            Some(Value::Array(several)) => several.contains(&audience),
            one => one == Some(&audience),
        };
        if !is_for_us {
            return Err(Refused("audience"));
        }
        let subject = text(claims, "sub").filter(|subject| !subject.is_empty());
        let subject = subject.ok_or(Refused("subject"))?.to_owned();
        let scopes = match claims.get("scope") {
            None => HashSet::new(),
            Some(Value::String(scopes)) => scopes.split(' ').map(str::to_owned).collect(),
            Some(_) => return Err(Refused("malformed")),
        };
        Ok(TokenHolder { subject, scopes })
    }
}
// ANCHOR_END: token

/// Parses a part of a token as a JSON object.
fn object(json: &[u8]) -> Option<Map<String, Value>> {
    serde_json::from_slice(json).ok()
}

fn text<'a>(object: &'a Map<String, Value>, member: &str) -> Option<&'a str> {
    object.get(member)?.as_str()
}

/// The algorithm's name in the header of a token.
fn name(algorithm: Algorithm) -> &'static str {
    match algorithm {
        Algorithm::ES256 => "ES256",
        Algorithm::EdDSA => "EdDSA",
        _ => "RS256",
    }
}
