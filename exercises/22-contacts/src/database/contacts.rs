//! Contacts in the database: reads them, and writes and deletes them conditionally.

use sqlx::{Connection, FromRow, PgConnection};

use crate::{database::sync, http::conditions::Condition};

/// A stored contact. Its vCard is read only on request.
#[derive(FromRow)]
pub struct Contact {
    pub name: String,
    /// The entity tag, including its quotes.
    pub etag: String,
    /// The time of the last change, in seconds since 1970; `None` as long as that
    /// second lasts, because another version could still get the same date.
    pub changed: Option<i64>,
    /// The length of the vCard, in bytes.
    pub length: i32,
    /// The vCard; `None` if it wasn't requested, or if the read had reached its size limit.
    pub vcard: Option<String>,
}

impl Contact {
    /// Whether this contact is unchanged since a date; `false` if it changed in the current second.
    pub fn is_unchanged_since(&self, date: i64) -> bool {
        self.changed.is_some_and(|changed| changed <= date)
    }
}

/// The contact with this name, including its vCard.
pub async fn find(
    connection: &mut PgConnection,
    owner: &str,
    name: &str,
) -> sqlx::Result<Option<Contact>> {
    let names = [name.to_owned()];
    Ok(named(connection, owner, &names, true).await?.pop())
}

/// The size limit for the vCards in one read, in bytes. The last vCard can exceed it.
const MAX_READ: i64 = 1 << 20;

/// The contacts with these names and, on request, their vCards up to about `MAX_READ` bytes.
pub async fn named(
    connection: &mut PgConnection,
    owner: &str,
    names: &[String],
    with_vcards: bool,
) -> sqlx::Result<Vec<Contact>> {
    sqlx::query_as(
        "SELECT name, etag, changed, length, CASE WHEN before < $3 THEN vcard END AS vcard FROM ( \
         SELECT name, etag, CASE WHEN date_trunc('second', changed) < date_trunc('second', now()) \
         THEN floor(extract(epoch FROM changed))::bigint END AS changed, octet_length(vcard) AS length, vcard, \
         sum(octet_length(vcard)) OVER (ORDER BY name) - octet_length(vcard) AS before \
         FROM contacts WHERE owner = $1 AND name = ANY($2) AND vcard IS NOT NULL) AS found",
    )
    .bind(owner)
    .bind(names)
    .bind(if with_vcards { MAX_READ } else { 0 })
    .fetch_all(connection)
    .await
}

/// All contacts in a user's address book, sorted by name, without their vCards.
pub async fn all(connection: &mut PgConnection, owner: &str) -> sqlx::Result<Vec<Contact>> {
    sqlx::query_as(
        "SELECT name, etag, CASE WHEN date_trunc('second', changed) < date_trunc('second', now()) \
         THEN floor(extract(epoch FROM changed))::bigint END AS changed, octet_length(vcard) AS length, NULL AS vcard \
         FROM contacts WHERE owner = $1 AND vcard IS NOT NULL ORDER BY name",
    )
    .bind(owner)
    .fetch_all(connection)
    .await
}

/// The name of the contact with this UID in the owner's address book.
pub async fn name_of(
    connection: &mut PgConnection,
    owner: &str,
    uid: &str,
) -> sqlx::Result<Option<String>> {
    sqlx::query_scalar(
        "SELECT name FROM contacts WHERE owner = $1 AND uid = $2 AND vcard IS NOT NULL",
    )
    .bind(owner)
    .bind(uid)
    .fetch_optional(connection)
    .await
}

/// A contact that a client wants to write.
pub struct NewContact<'a> {
    pub owner: &'a str,
    pub name: &'a str,
    pub uid: &'a str,
    pub etag: &'a str,
    pub vcard: &'a str,
}

/// The outcome of writing a contact.
#[derive(Debug, PartialEq, Eq)]
pub enum Put {
    Created,
    Replaced,
    /// Nothing was changed: the request's condition doesn't hold.
    ConditionFailed,
    /// Nothing was changed: the UID is taken in this book, or the contact has a different UID.
    UidConflict,
}

/// Writes a contact if the condition holds.
pub async fn put(
    connection: &mut PgConnection,
    contact: &NewContact<'_>,
    condition: &Condition,
) -> sqlx::Result<Put> {
    let mut transaction = connection.begin().await?;
    let put = match write(&mut transaction, contact, condition).await {
        Err(error) if is_uid_conflict(&error) => Put::UidConflict,
        written => written?,
    };
    match put {
        Put::Created | Put::Replaced => transaction.commit().await?,
        Put::ConditionFailed | Put::UidConflict => transaction.rollback().await?,
    }
    Ok(put)
}

/// Whether the error is a violation of the unique index on UIDs.
fn is_uid_conflict(error: &sqlx::Error) -> bool {
    let error = error.as_database_error();
    error.is_some_and(|error| error.constraint() == Some("contacts_uid"))
}

/// Replaces the contact, or creates it if it doesn't exist, provided that the condition holds.
async fn write(
    transaction: &mut PgConnection,
    contact: &NewContact<'_>,
    condition: &Condition,
) -> sqlx::Result<Put> {
    let revision = sync::next_revision(transaction, contact.owner).await?;
    if replace(transaction, contact, revision, condition).await? {
        return Ok(Put::Replaced);
    }
    // A contact that doesn't exist has no entity tag, so `If-Match` can't hold.
    if condition.if_match.is_none() && create(transaction, contact, revision).await? {
        return Ok(Put::Created);
    }
    why_not(transaction, contact, condition).await
}

/// Determines why nothing was written: the condition doesn't hold, or else the UID differs.
async fn why_not(
    transaction: &mut PgConnection,
    contact: &NewContact<'_>,
    condition: &Condition,
) -> sqlx::Result<Put> {
    let there: Option<(String, String)> = sqlx::query_as(
        "SELECT etag, uid FROM contacts WHERE owner = $1 AND name = $2 AND vcard IS NOT NULL",
    )
    .bind(contact.owner)
    .bind(contact.name)
    .fetch_optional(transaction)
    .await?;
    Ok(match there {
        Some((etag, uid)) if uid != contact.uid && condition.allows(&etag) => Put::UidConflict,
        _ => Put::ConditionFailed,
    })
}

// ANCHOR: conditional-put
/// Replaces a contact that exists, has the same UID and meets the condition. Returns whether it did.
///
/// There are six requirements: the contact exists; it already has this UID; `if_match` is `None` or contains its tag; `if_none_match` doesn't;
/// no other request can write between the check and the update; and `changed` is at least a second later than before, whatever
/// the clock says, so each version has its own second. `ARRAY[etag::text, '*'] && $7` is true if `$7` has the tag.
async fn replace(
    transaction: &mut PgConnection,
    contact: &NewContact<'_>,
    revision: i64,
    condition: &Condition,
) -> sqlx::Result<bool> {
    let (owner, name) = (contact.owner, contact.name);
    todo!(
        "replace {name} of {owner} in change {revision} if {condition:?} holds, on {transaction:?}"
    )
}

/// Creates a contact if none exists, and returns whether it did. A tombstone may still have this name.
async fn create(
    transaction: &mut PgConnection,
    contact: &NewContact<'_>,
    revision: i64,
) -> sqlx::Result<bool> {
    let created = sqlx::query(
        "INSERT INTO contacts (owner, name, uid, etag, vcard, revision, changed) \
         VALUES ($1, $2, $3, $4, $5, $6, now())",
    )
    .bind(contact.owner)
    .bind(contact.name)
    .bind(contact.uid)
    .bind(contact.etag)
    .bind(contact.vcard)
    .bind(revision)
    .execute(transaction)
    .await?;
    Ok(created.rows_affected() == 1)
}
// ANCHOR_END: conditional-put

/// The outcome of deleting a contact.
#[derive(Debug, PartialEq, Eq)]
pub enum Deleted {
    Yes,
    /// Nothing was changed: the request's condition doesn't hold.
    ConditionFailed,
    NotThere,
}

/// Deletes a contact if the condition holds.
pub async fn delete(
    connection: &mut PgConnection,
    owner: &str,
    name: &str,
    condition: &Condition,
) -> sqlx::Result<Deleted> {
    let mut transaction = connection.begin().await?;
    if bury(&mut transaction, owner, name, condition).await? {
        transaction.commit().await?;
        return Ok(Deleted::Yes);
    }
    transaction.rollback().await?;
    Ok(match find(connection, owner, name).await? {
        Some(_) => Deleted::ConditionFailed,
        None => Deleted::NotThere,
    })
}

// ANCHOR: conditional-delete
/// Turns the contact into a *tombstone* if the condition holds, and returns whether it did. The vCard is removed, but the row
/// stays, so that clients learn of the deletion when they next sync.
async fn bury(
    transaction: &mut PgConnection,
    owner: &str,
    name: &str,
    condition: &Condition,
) -> sqlx::Result<bool> {
    let revision = sync::next_revision(transaction, owner).await?;
    todo!("take the vCard out of {name} in change {revision} if {condition:?} holds")
}
// ANCHOR_END: conditional-delete
