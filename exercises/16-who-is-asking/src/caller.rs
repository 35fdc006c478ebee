//! Two guards: `Caller` authenticates, and `Allowed`, which is built on `Caller`, authorizes.

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
/// The authenticated caller: the subject of an access token, or the owner of an API key.
pub enum Caller {
    /// A caller with an API key. Every key allows everything, and no key identifies its owner.
    Key,
    /// A caller with an access token, which contains the subject and the scopes.
    Token {
        /// The `sub` claim of the token.
        subject: String,
        /// The `scope` claim: scopes separated by spaces.
        scope: String,
    },
}

#[async_trait]
impl<'r> FromRequest<'r> for Caller {
    type Error = Refused;

    async fn from_request(request: &'r Request<'_>) -> Outcome<Caller, Refused> {
        let Some(tokens) = request.rocket().state::<Tokens>() else {
            return by_key(request).await;
        };
        let judged = match bearer(request) {
            Ok(Some(token)) => tokens.judge(token).await,
            _ => return by_key(request).await,
        };
        let (judged, span) = (judged.map(|_caller| "a caller"), request_span(request));
        todo!("let {judged:?} in, with its subject in {span:?}, or refuse it")
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

/// The scope that allows reading records.
pub struct ReadRecords;

impl Scope for ReadRecords {
    const NAME: &'static str = "records:read";
}

/// The scope that allows changing records.
pub struct WriteRecords;

impl Scope for WriteRecords {
    const NAME: &'static str = "records:write";
}

// ANCHOR: allowed
/// Proof that the caller has the scope `S`: a handler with this guard runs only in that case.
pub struct Allowed<S>(PhantomData<S>);

#[async_trait]
impl<'r, S: Scope> FromRequest<'r> for Allowed<S> {
    type Error = Refused;

    async fn from_request(request: &'r Request<'_>) -> Outcome<Allowed<S>, Refused> {
        let caller = try_outcome!(request.guard::<Caller>().await);
        match caller {
            Caller::Key => Outcome::Success(Allowed(PhantomData)),
            Caller::Token { subject, scope } => {
                let missing = Refused::Scope(S::NAME);
                todo!("may {subject} do it, with the scope {scope:?}? If not: {missing:?}")
            }
        }
    }
}
// ANCHOR_END: allowed
