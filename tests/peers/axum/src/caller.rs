//! The caller: the extractor that lets a request pass with a token that has a scope, or with a key, which has all of them.

use std::marker::PhantomData;

use axum::{
    extract::{FromRef, FromRequestParts},
    http::{header::AUTHORIZATION, request::Parts},
};
use tracing::{Span, info};

use crate::{
    api_key::{ApiKey, ApiKeys},
    error::Error,
    token::{Refusal, Tokens},
};

/// A scope that a handler asks for.
pub trait Scope {
    const NAME: &'static str;
}

pub struct Read;
pub struct Write;

impl Scope for Read {
    const NAME: &'static str = "records:read";
}

impl Scope for Write {
    const NAME: &'static str = "records:write";
}

// ANCHOR: allowed
/// The proof that a request is allowed what this scope stands for: a handler that takes one runs only then.
pub struct Allowed<S>(PhantomData<S>);

impl<S: Scope, State: Send + Sync> FromRequestParts<State> for Allowed<S>
where
    ApiKeys: FromRef<State>,
    Option<Tokens>: FromRef<State>,
{
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &State) -> Result<Allowed<S>, Error> {
        let Some(tokens) = Option::<Tokens>::from_ref(state) else {
            ApiKey::from_request_parts(parts, state).await?;
            return Ok(Allowed(PhantomData));
        };
        // A token that is there decides alone: a key beside it rescues no wrong one.
        let Some(token) = bearer_token(parts)? else {
            let key = ApiKey::from_request_parts(parts, state).await;
            return key
                .map(|_| Allowed(PhantomData))
                .map_err(|_| Error::NoCredentials);
        };
        match tokens.holder(token).await {
            Ok(holder) => {
                Span::current().record("subject", &holder.subject);
                if holder.may(S::NAME) {
                    Ok(Allowed(PhantomData))
                } else {
                    Err(Error::ScopeMissing(S::NAME))
                }
            }
            Err(Refusal::Refused(reason)) => {
                info!("token refused: {reason}"); // and nothing of the token
                Err(Error::TokenRefused)
            }
            Err(Refusal::KeysUnavailable) => Err(Error::KeysUnavailable),
        }
    }
}

/// The token in the header; none where there is another scheme, or nothing.
fn bearer_token(parts: &Parts) -> Result<Option<&str>, Error> {
    let mut given = parts.headers.get_all(AUTHORIZATION).iter();
    let Some(first) = given.next() else {
        return Ok(None);
    };
    if given.next().is_some() {
        return Err(Error::NotOneToken);
    }
    let (scheme, token) = match first.to_str() {
        Ok(text) => text.split_once(' ').unwrap_or((text, "")),
        Err(_not_ascii) => return Ok(None),
    };
    match token.trim() {
        _ if !scheme.eq_ignore_ascii_case("Bearer") => Ok(None),
        "" => Err(Error::NotOneToken),
        token => Ok(Some(token)),
    }
}
// ANCHOR_END: allowed
