//! The caller, and their permissions: two guards, one built on the other.

use std::marker::PhantomData;

use rocket::{
    Request, async_trait,
    outcome::try_outcome,
    request::{FromRequest, Outcome},
};

use crate::{
    api_key::{self, ApiKey},
    bearer::bearer,
    refused::{Refused, refuse},
    request_span::request_span,
    token::Tokens,
};

// ANCHOR: caller
/// The caller: a subject that the issuer names, or the owner of an API key.
pub enum Caller {
    /// A caller with an API key. All keys are alike: they allow everything, and identify no one.
    Key,
    /// A subject and its scopes, as the token says.
    Token {
        /// The `sub` of the token.
        subject: String,
        /// The scopes, separated by spaces.
        scope: String,
    },
}

impl Caller {
    fn may(&self, scope: &str) -> bool {
        match self {
            Caller::Key => true,
            Caller::Token { scope: scopes, .. } => scopes.split(' ').any(|given| given == scope),
        }
    }
}

#[async_trait]
impl<'r> FromRequest<'r> for Caller {
    type Error = Refused;

    async fn from_request(request: &'r Request<'_>) -> Outcome<Caller, Refused> {
        let Some(tokens) = request.rocket().state::<Tokens>() else {
            return by_key(request).await;
        };
        let judged = match bearer(request) {
            // If there is a token, it alone decides: a valid key doesn't make up for an invalid token.
            Ok(Some(token)) => tokens.judge(token).await,
            Ok(None) => return by_key(request).await,
            Err(refused) => Err(refused),
        };
        match judged {
            Ok(caller) => {
                if let Caller::Token { subject, .. } = &caller {
                    request_span(request).record("subject", subject);
                }
                Outcome::Success(caller)
            }
            Err(refused) => refuse(request, refused),
        }
    }
}
// ANCHOR_END: caller

/// Authenticates a caller with an API key.
async fn by_key(request: &Request<'_>) -> Outcome<Caller, Refused> {
    match request.guard::<ApiKey>().await {
        Outcome::Success(_key) => Outcome::Success(Caller::Key),
        Outcome::Forward(status) => Outcome::Forward(status),
        Outcome::Error((_, api_key::Refused::Missing | api_key::Refused::Wrong))
            if request.rocket().state::<Tokens>().is_some() =>
        {
            refuse(request, Refused::Nothing)
        }
        Outcome::Error((status, refused)) => Outcome::Error((status, refused.into())),
    }
}

/// A scope that a handler can require of a caller.
pub trait Scope: Send + Sync + 'static {
    /// The name of the scope in tokens.
    const NAME: &'static str;
}

/// Allows reading records.
pub struct ReadRecords;

impl Scope for ReadRecords {
    const NAME: &'static str = "records:read";
}

/// Allows changing records.
pub struct WriteRecords;

impl Scope for WriteRecords {
    const NAME: &'static str = "records:write";
}

// ANCHOR: allowed
/// Proof that the caller has the scope `S`: without it, a handler with this guard doesn't run.
pub struct Allowed<S>(PhantomData<S>);

#[async_trait]
impl<'r, S: Scope> FromRequest<'r> for Allowed<S> {
    type Error = Refused;

    async fn from_request(request: &'r Request<'_>) -> Outcome<Allowed<S>, Refused> {
        let caller = try_outcome!(request.guard::<Caller>().await);
        if caller.may(S::NAME) {
            Outcome::Success(Allowed(PhantomData))
        } else {
            refuse(request, Refused::Scope(S::NAME))
        }
    }
}
// ANCHOR_END: allowed
