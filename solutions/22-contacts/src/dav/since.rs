//! `If-Unmodified-Since`: a date instead of a tag, for clients that keep no tags.

use axum::http::{HeaderMap, header::IF_UNMODIFIED_SINCE};

use crate::{
    dav::get,
    error::Error,
    http::conditions::{self, Condition},
    service::Service,
    users::User,
};

/// The condition of a request that changes this contact. A date is replaced by the tag of the version unchanged since then, so
/// the statement that writes always compares a tag. `If-Match` is more exact than a date, which is ignored beside it.
///
/// # Errors
/// The contact has changed since, a header cannot be read, or the database does not answer.
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
        // A contact that doesn't exist has no date. It must not have been created meanwhile.
        None => Condition {
            if_none_match: vec!["*".to_owned()],
            ..condition
        },
    })
}
