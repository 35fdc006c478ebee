//! `If-Unmodified-Since`: a date instead of a tag, for clients that keep no tags.

use axum::http::{HeaderMap, header::IF_UNMODIFIED_SINCE};

use crate::{
    dav::get,
    error::Error,
    http::conditions::{self, Condition},
    service::Service,
    users::User,
};

/// The condition of a request that changes this contact. A date is translated into the tag of the version that is unchanged
/// since then, so the write always compares tags. `If-Match` is more exact and overrides dates.
///
/// # Errors
/// The contact has changed since the date, a header is invalid, or the database does not answer.
pub async fn condition(
    service: &Service,
    user: &User,
    name: &str,
    headers: &HeaderMap,
) -> Result<Condition, Error> {
    let condition = Condition::of(headers)?;
    let Some(date) = conditions::date(headers, &IF_UNMODIFIED_SINCE) else {
        return Ok(condition);
    };
    if condition.if_match.is_some() {
        return Ok(condition);
    }
    let there = match get::find(service, user, name).await {
        Ok(contact) if !contact.is_unchanged_since(date) => return Err(Error::ConditionFailed),
        Ok(contact) => Some(contact.etag),
        Err(Error::NotFound(_)) => None,
        Err(error) => return Err(error),
    };
    Ok(match there {
        Some(etag) => Condition {
            if_match: Some(vec![etag]),
            ..condition
        },
        // A missing contact has no date. If it is created in the meantime, the write must fail.
        None => Condition {
            if_none_match: vec!["*".to_owned()],
            ..condition
        },
    })
}
