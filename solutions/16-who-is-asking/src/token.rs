//! Verifies access tokens: type, signature (with the issuer's keys), and claims.

use std::sync::Arc;

use jsonwebtoken::{
    Validation, decode, decode_header,
    errors::{Error, ErrorKind},
};
use serde::Deserialize;

use crate::{
    caller::Caller,
    keys::Keys,
    object::Object,
    refused::{Reason, Refused},
    settings::TokenSettings,
};

/// The maximum length of a token, in bytes.
const MAX_TOKEN_BYTES: usize = 8192;

/// The claims about the token's bearer. The library validates the others. A claim of the wrong
/// type makes the token malformed here: the library alone would accept a list as the issuer.
#[derive(Deserialize)]
struct Claims {
    #[expect(dead_code, reason = "a text or nothing; the library compares it")]
    iss: Option<String>,
    sub: Option<String>,
    scope: Option<String>,
}

/// Verifies access tokens.
pub struct Tokens {
    keys: Arc<Keys>,
    issuer: String,
    audience: String,
    leeway: u64,
}

impl Tokens {
    /// Accepts tokens from the issuer and for the audience in `settings`, verified with `keys`.
    pub fn new(settings: &TokenSettings, keys: Arc<Keys>) -> Tokens {
        Tokens {
            keys,
            issuer: settings.issuer.clone(),
            audience: settings.audience.clone(),
            leeway: settings.leeway,
        }
    }

    // ANCHOR: judge
    /// Verifies the token, and returns the caller.
    ///
    /// # Errors
    /// The token is invalid, or there are no keys to verify it with.
    pub async fn judge(&self, token: &str) -> Result<Caller, Refused> {
        if token.len() > MAX_TOKEN_BYTES {
            return Err(Refused::Token(Reason::Malformed));
        }
        let header = decode_header(token).map_err(|_| Refused::Token(Reason::Malformed))?;
        if !header.typ.is_some_and(|typ| is_access_token(&typ)) {
            return Err(Refused::Token(Reason::Type));
        }
        let kid = header.kid.ok_or(Refused::Token(Reason::Key))?;
        let key = self.keys.get(&kid).await?;

        // The key determines the algorithm: an attacker can put any algorithm into the token's header.
        let mut validation = Validation::new(key.algorithm);
        validation.set_issuer(&[&self.issuer]);
        validation.set_audience(&[&self.audience]);
        // By default, only `exp` is required, and `nbf` is not checked.
        validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
        validation.validate_nbf = true;
        validation.leeway = self.leeway;

        let decoded = decode::<Object<Claims>>(token, &key.decoding, &validation);
        let Object(claims) = decoded.map_err(|error| reason(&error))?.claims;
        match claims.sub {
            Some(subject) if !subject.is_empty() => Ok(Caller::Token {
                subject,
                scope: claims.scope.unwrap_or_default(),
            }),
            _ => Err(Refused::Token(Reason::Subject)),
        }
    }
    // ANCHOR_END: judge
}

/// Rejects ID tokens: same signing keys, but type `JWT` and a different audience (RFC 9068).
fn is_access_token(typ: &str) -> bool {
    ["at+jwt", "application/at+jwt"]
        .iter()
        .any(|access| typ.eq_ignore_ascii_case(access))
}

// ANCHOR: reason
/// Maps a library error to one word for the log: the error's message could quote the token.
fn reason(error: &Error) -> Refused {
    Refused::Token(match error.kind() {
        ErrorKind::InvalidAlgorithm => Reason::Algorithm,
        ErrorKind::InvalidSignature => Reason::Signature,
        ErrorKind::ExpiredSignature | ErrorKind::ImmatureSignature => Reason::Time,
        ErrorKind::InvalidIssuer => Reason::Issuer,
        ErrorKind::InvalidAudience => Reason::Audience,
        ErrorKind::InvalidSubject => Reason::Subject,
        ErrorKind::MissingRequiredClaim(claim) | ErrorKind::InvalidClaimFormat(claim) => {
            match claim.as_str() {
                "exp" | "nbf" => Reason::Time,
                "iss" => Reason::Issuer,
                "aud" => Reason::Audience,
                "sub" => Reason::Subject,
                _ => Reason::Malformed,
            }
        }
        _ => Reason::Malformed,
    })
}
// ANCHOR_END: reason
