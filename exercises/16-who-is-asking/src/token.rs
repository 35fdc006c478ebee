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

/// The claims that this service itself reads from a token.
#[derive(Deserialize)]
struct Claims {
    sub: Option<String>,
    scope: Option<String>,
}

/// Verifies access tokens.
#[expect(
    dead_code,
    reason = "delete this line once issuer, audience and leeway are compared"
)]
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
        let header = decode_header(token).map_err(|error| reason(&error))?;
        let kid = header.kid.ok_or(Refused::Token(Reason::Key))?;
        let key = self.keys.get(&kid).await?;

        // Many examples verify tokens with this code, but it accepts tokens that must be refused.
        let validation = Validation::new(header.alg);
        let decoded = decode::<Object<Claims>>(token, &key.decoding, &validation);
        let Object(claims) = decoded.map_err(|error| reason(&error))?.claims;
        Ok(Caller::Token {
            subject: claims.sub.unwrap_or_default(),
            scope: claims.scope.unwrap_or_default(),
        })
    }
    // ANCHOR_END: judge
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
