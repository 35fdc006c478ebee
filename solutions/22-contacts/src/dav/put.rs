//! PUT: creates or replaces one contact.

use axum::{
    extract::Request,
    http::{StatusCode, header::ETAG},
    response::{AppendHeaders, IntoResponse, Response},
};
use sha2::{Digest, Sha256};

use crate::{
    database::contacts::{self, NewContact, Put},
    dav::{paths, since},
    error::{Error, dav::DavError},
    http::{body, content_type::ContentType},
    service::Service,
    users::User,
    vcard::{self, Card},
};

/// The maximum size of a vCard, in bytes: room for a photo of several hundred KB in Base64.
pub const MAX_VCARD_BYTES: usize = 1 << 20;

/// Answers 201 (new contact) or 204 (existing), with the entity tag. Refuses invalid bodies
/// (403, 413, 415), failed conditions (412), and duplicate or changed UIDs (409).
///
/// Without a condition, a PUT overwrites the contact. Refusing it (428) would cost users of
/// programs that send no condition, such as Thunderbird, every edit instead of a few.
pub async fn put(
    service: &Service,
    user: &User,
    name: &str,
    request: Request,
) -> Result<Response, Error> {
    let (head, body) = request.into_parts();
    let content_type = ContentType::of(&head.headers);
    let is_other = |content_type: &ContentType| !content_type.is_one_of(&MEDIA_TYPES);
    if content_type.as_ref().is_some_and(is_other) {
        return Err(DavError::SupportedAddressData.into());
    }
    let condition = since::condition(service, user, name, &head.headers).await?;
    let bytes = body::read(&head.headers, body, MAX_VCARD_BYTES).await;
    let bytes = bytes.map_err(|error| match error {
        Error::BodyTooLarge(_) => DavError::MaxResourceSize.into(),
        other => other,
    })?;
    if content_type.is_some_and(|content_type| !content_type.is_utf8(&bytes)) {
        return Err(DavError::SupportedAddressData.into());
    }
    let Vcard {
        text,
        uid,
        etag,
        is_as_sent,
    } = service.computing.run(move || Vcard::read(bytes)).await?;
    let contact = NewContact {
        owner: user.name(),
        name,
        uid: &uid,
        etag: &etag,
        vcard: &text,
    };

    let put = service
        .database
        .run(async |connection| contacts::put(connection, &contact, &condition).await)
        .await?;
    let status = match put {
        Put::Created => StatusCode::CREATED,
        Put::Replaced => StatusCode::NO_CONTENT,
        Put::ConditionFailed => return Err(Error::ConditionFailed),
        Put::UidConflict => return Err(uid_conflict(service, user, name, &uid).await?.into()),
    };
    // Omitted if the text changed: a client assumes that the tag belongs to the bytes it sent.
    let etag = is_as_sent.then_some((ETAG, etag));
    Ok((status, AppendHeaders(etag)).into_response())
}

/// A valid vCard, ready to be stored.
struct Vcard {
    text: String,
    uid: String,
    etag: String,
    /// Whether the text is byte for byte what the client sent.
    is_as_sent: bool,
}

impl Vcard {
    fn read(bytes: Vec<u8>) -> Result<Vcard, DavError> {
        let length = bytes.len();
        let text = vcard::text_of(bytes).ok_or(DavError::ValidAddressData)?;
        Ok(Vcard {
            uid: Card::read(&text)?.uid(),
            etag: etag(&text),
            is_as_sent: text.len() == length,
            text,
        })
    }
}

/// The media types that clients use for vCards, newest first. Without a `Content-Type`, only the body is checked.
const MEDIA_TYPES: [&str; 4] = [
    "text/vcard",
    "text/x-vcard",
    "text/directory",
    "application/vcard",
];

/// The quoted entity tag of a vCard: a digest, so different vCards have different tags.
fn etag(text: &str) -> String {
    let digest = Sha256::digest(text);
    format!("\"{}\"", hex::encode(&digest[..16]))
}

/// A UID conflict, with the contact that has this UID or else the one whose UID would change.
async fn uid_conflict(
    service: &Service,
    user: &User,
    name: &str,
    uid: &str,
) -> Result<DavError, Error> {
    let holder = service
        .database
        .read(async |connection| contacts::name_of(connection, user.name(), uid).await)
        .await?;
    let path = paths::contact(user, holder.as_deref().unwrap_or(name));
    Ok(DavError::NoUidConflict(path))
}
