//! PUT: one contact, new or instead of the one that is there.

use axum::{
    extract::Request,
    http::{
        HeaderMap, StatusCode,
        header::{CONTENT_TYPE, ETAG},
    },
    response::{IntoResponse, Response},
};
use sha2::{Digest, Sha256};

use crate::{
    body,
    conditions::Condition,
    contacts::{self, NewContact, Put},
    dav_error::DavError,
    error::Error,
    paths,
    service::Service,
    users::User,
    vcard::Card,
    xml,
};

/// The largest vCard, in bytes.
pub const MAX_VCARD_BYTES: usize = 102_400;

/// Answers 201 for a new contact and 204 for one that was there, both with its tag. Nothing is changed when the body cannot be
/// used (403, 413, 415), the condition does not hold (412), or another contact has the UID (409).
pub async fn put(
    service: &Service,
    user: &User,
    name: &str,
    request: Request,
) -> Result<Response, Error> {
    let (head, body) = request.into_parts();
    if !is_vcard(&head.headers) {
        return Err(DavError::SupportedAddressData.into());
    }
    let condition = Condition::of(&head.headers)?;
    let bytes = body::read(&head.headers, body, MAX_VCARD_BYTES).await?;
    let vcard = String::from_utf8(bytes).map_err(|_| DavError::ValidAddressData)?;
    let card = Card::read(&vcard).ok_or(DavError::ValidAddressData)?;
    let (uid, etag) = (card.uid(), etag(&vcard));
    let contact = NewContact {
        owner: user.name(),
        name,
        uid: &uid,
        etag: &etag,
        vcard: &vcard,
    };

    let put = service
        .database
        .run(async |connection| contacts::put(connection, &contact, &condition).await)
        .await?;
    let status = match put {
        Put::Created => StatusCode::CREATED,
        Put::Replaced => StatusCode::NO_CONTENT,
        Put::ConditionFailed => return Err(Error::ConditionFailed),
        Put::UidTaken => return Err(uid_conflict(service, user, &uid).await?.into()),
    };
    Ok((status, [(ETAG, etag)]).into_response())
}

fn is_vcard(headers: &HeaderMap) -> bool {
    let content_type = headers.get(CONTENT_TYPE);
    content_type.is_some_and(|content_type| {
        xml::is_utf8_of(content_type.to_str().unwrap_or_default(), &["text/vcard"])
    })
}

/// The tag of a text, in its quotes: the same text always has the same one, and no other text has it.
fn etag(text: &str) -> String {
    let digest = Sha256::digest(text);
    format!("\"{}\"", hex::encode(&digest[..16]))
}

/// Names the contact that has this UID.
async fn uid_conflict(service: &Service, user: &User, uid: &str) -> Result<DavError, Error> {
    let holder = service
        .database
        .run(async |connection| contacts::name_of(connection, user.name(), uid).await)
        .await?;
    let path = match holder {
        Some(name) => paths::contact(user, &name),
        None => paths::book(user), // it has gone meanwhile
    };
    Ok(DavError::NoUidConflict(path))
}
