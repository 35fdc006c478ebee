//! `If-Unmodified-Since`: a date instead of an entity tag, for clients that keep no tags.

use axum::http::{HeaderMap, header::IF_UNMODIFIED_SINCE};

use crate::{
    dav::get,
    error::Error,
    http::conditions::{self, Condition},
    service::Service,
    users::User,
};

/// The condition for changing this contact. A date is replaced with the contact's current
/// tag, so the write compares only tags. `If-Match` is more exact, and overrides the date.
///
/// # Errors
/// The contact is newer than the date, a header is invalid, or the database doesn't answer.
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
        // There is no contact yet. If one is created in the meantime, the write must fail.
        None => Condition {
            if_none_match: vec!["*".to_owned()],
            ..condition
        },
    })
}
