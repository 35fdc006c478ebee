//! GET and HEAD: return one contact, byte for byte as it was stored.

use axum::{
    http::{
        HeaderMap, StatusCode,
        header::{
            CONTENT_TYPE, ETAG, IF_MODIFIED_SINCE, IF_NONE_MATCH, IF_UNMODIFIED_SINCE,
            LAST_MODIFIED,
        },
    },
    response::{AppendHeaders, IntoResponse, Response},
};

use crate::{
    database::contacts::{self, Contact},
    dav::properties,
    error::Error,
    http::conditions::{self, Condition},
    service::Service,
    users::User,
};

/// Returns the vCard. Answers 304 if the client already has this version, 404 if no contact has this name, and 412 if
/// the client expects a different version.
pub async fn get(
    service: &Service,
    user: &User,
    name: &str,
    headers: &HeaderMap,
) -> Result<Response, Error> {
    let condition = Condition::of(headers)?;
    let contact = find(service, user, name).await?;
    if !holds(&condition, headers, &contact) {
        return Err(Error::ConditionFailed);
    }
    let is_known = is_known(&condition, headers, &contact);
    let last_modified = properties::last_modified(&contact).map(|date| (LAST_MODIFIED, date));
    let etag = (ETAG, contact.etag.clone());
    let headers = AppendHeaders([Some(etag), last_modified].into_iter().flatten());
    if is_known {
        return Ok((StatusCode::NOT_MODIFIED, headers).into_response());
    }
    let content_type = [(CONTENT_TYPE, properties::CONTENT_TYPE)];
    Ok((headers, content_type, contact.vcard.unwrap_or_default()).into_response())
}

/// Whether the precondition holds: `If-Match` or, without that header, `If-Unmodified-Since`.
fn holds(condition: &Condition, headers: &HeaderMap, contact: &Contact) -> bool {
    match &condition.if_match {
        Some(tags) => conditions::names(tags, &contact.etag),
        None => conditions::date(headers, &IF_UNMODIFIED_SINCE)
            .is_none_or(|date| contact.is_unchanged_since(date)),
    }
}

/// Whether the client has this version, per `If-None-Match` or else `If-Modified-Since`.
fn is_known(condition: &Condition, headers: &HeaderMap, contact: &Contact) -> bool {
    if headers.contains_key(IF_NONE_MATCH) {
        return conditions::names(&condition.if_none_match, &contact.etag);
    }
    conditions::date(headers, &IF_MODIFIED_SINCE)
        .is_some_and(|date| contact.is_unchanged_since(date))
}

/// The user's contact with this name.
///
/// # Errors
/// There is no such contact, or the database does not answer.
pub async fn find(service: &Service, user: &User, name: &str) -> Result<Contact, Error> {
    let found = service
        .database
        .read(async |connection| contacts::find(connection, user.name(), name).await)
        .await?;
    found.ok_or(NOT_THERE)
}

/// The error for a contact that doesn't exist.
pub const NOT_THERE: Error = Error::NotFound("there is no contact with this name");
