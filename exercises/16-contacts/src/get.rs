//! GET and HEAD: one contact, byte for byte as it was put.

use axum::{
    http::{
        HeaderMap, StatusCode,
        header::{CONTENT_TYPE, ETAG, LAST_MODIFIED},
    },
    response::{IntoResponse, Response},
};

use crate::{
    conditions,
    contacts::{self, Contact},
    error::Error,
    properties,
    service::Service,
    users::User,
};

/// Answers the vCard; 304 when the client has it already, 404 when there is none with this name.
pub async fn get(
    service: &Service,
    user: &User,
    name: &str,
    headers: &HeaderMap,
) -> Result<Response, Error> {
    let known = conditions::none_match(headers)?;
    let contact = find(service, user, name).await?;
    let headers = [
        (ETAG, contact.etag.clone()),
        (LAST_MODIFIED, properties::last_modified(&contact)),
    ];
    if conditions::names(&known, &contact.etag) {
        return Ok((StatusCode::NOT_MODIFIED, headers).into_response());
    }
    let content_type = [(CONTENT_TYPE, properties::CONTENT_TYPE)];
    Ok((headers, content_type, contact.vcard.unwrap_or_default()).into_response())
}

/// The user's contact with this name.
///
/// # Errors
/// There is none, or the database does not answer.
pub async fn find(service: &Service, user: &User, name: &str) -> Result<Contact, Error> {
    let found = service
        .database
        .run(async |connection| contacts::find(connection, user.name(), name).await)
        .await?;
    found.ok_or(NOT_THERE)
}

/// The answer where there is no such contact.
pub const NOT_THERE: Error = Error::NotFound("there is no contact with this name");
