//! The extractor for callers: requires a token with a given scope, or a key for all scopes.

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

/// A scope that a handler requires.
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
/// Proof of a scope: a handler that takes an `Allowed<S>` only runs if the caller has `S`.
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
        // If there is a token, it alone decides: a valid key doesn't make up for an invalid token.
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

/// The bearer token, or `None` if the header is missing or has a different scheme.
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
