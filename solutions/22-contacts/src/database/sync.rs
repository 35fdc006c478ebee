//! Synchronization: how a client learns about the changes since its last sync (RFC 6578).
//!
//! The changes in an address book are numbered. A contact's *revision* is the number of its last change. A client keeps a
//! *sync token*, which contains the number of the last change that the client knows.

use sqlx::{FromRow, PgConnection};

use crate::error::dav::DavError;

// ANCHOR: sync-token
/// A user's address book.
#[derive(Debug, FromRow)]
pub struct Book {
    /// The book's identity. A recreated database assigns a new one: revisions restart at 0.
    pub life: String,
    /// The number of the book's last change.
    pub revision: i64,
}

impl Book {
    /// Finds the book of this user, or creates it.
    pub async fn open(connection: &mut PgConnection, owner: &str) -> sqlx::Result<Book> {
        const FIND: &str = "SELECT life::text, revision FROM books WHERE owner = $1";

        let found = sqlx::query_as(FIND).bind(owner);
        if let Some(book) = found.fetch_optional(&mut *connection).await? {
            return Ok(book);
        }
        sqlx::query("INSERT INTO books (owner) VALUES ($1) ON CONFLICT DO NOTHING")
            .bind(owner)
            .execute(&mut *connection)
            .await?;
        sqlx::query_as(FIND).bind(owner).fetch_one(connection).await
    }

    /// The sync token of a client that knows all changes.
    pub fn token(&self) -> String {
        self.token_at(self.revision)
    }

    /// The sync token of a client that knows all changes up to this revision.
    pub fn token_at(&self, revision: i64) -> String {
        format!("urn:contacts:sync:{}:{revision}", self.life)
    }

    /// The revision in a client's token; 0 for the empty token of a client that has never synced.
    ///
    /// # Errors
    /// This book has never issued this token.
    pub fn revision_of(&self, token: &str) -> Result<i64, DavError> {
        if token.is_empty() {
            return Ok(0);
        }
        let number = token.rsplit(':').next().unwrap_or_default();
        match number.parse() {
            Ok(revision @ 0..) if revision <= self.revision && token == self.token_at(revision) => {
                Ok(revision)
            }
            _ => Err(DavError::ValidSyncToken),
        }
    }
}
// ANCHOR_END: sync-token

// ANCHOR: next-revision
/// Increments the revision of this user's book, creates the book if needed, and returns the revision.
///
/// This locks the book until the transaction ends, so changes become visible in the order of their revisions. Otherwise a
/// client could see change 7, ask for all changes after it, and never learn of change 6.
pub async fn next_revision(transaction: &mut PgConnection, owner: &str) -> sqlx::Result<i64> {
    sqlx::query_scalar(
        "INSERT INTO books AS book (owner, revision) VALUES ($1, 1) \
         ON CONFLICT (owner) DO UPDATE SET revision = book.revision + 1 \
         RETURNING revision",
    )
    .bind(owner)
    .fetch_one(transaction)
    .await
}
// ANCHOR_END: next-revision

// ANCHOR: sync-collection
/// The last change to a contact.
#[derive(Debug, PartialEq, Eq, FromRow)]
pub struct Change {
    pub name: String,
    pub revision: i64,
    /// Whether the contact was deleted.
    pub removed: bool,
}

/// The first `most` changes after revision `since`, up to the book's revision, in ascending order. The first sync,
/// where `since` is 0, leaves out deleted contacts.
pub async fn changes(
    connection: &mut PgConnection,
    owner: &str,
    since: i64,
    up_to: &Book,
    most: i64,
) -> sqlx::Result<Vec<Change>> {
    sqlx::query_as(
        "SELECT name, revision, vcard IS NULL AS removed FROM contacts \
         WHERE owner = $1 AND revision > $2 AND revision <= $3 AND (vcard IS NOT NULL OR $2 > 0) \
         ORDER BY revision LIMIT $4",
    )
    .bind(owner)
    .bind(since)
    .bind(up_to.revision)
    .bind(most)
    .fetch_all(connection)
    .await
}
// ANCHOR_END: sync-collection

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_leads_back_to_its_revision_and_no_other_text_does() {
        let life = "00000000-0000-0000-0000-000000000001".to_owned();
        let book = Book { life, revision: 7 };
        let of = |token: &str| book.revision_of(token).ok();
        assert_eq!(of(""), Some(0));
        for revision in [0, 3, 7] {
            assert_eq!(of(&book.token_at(revision)), Some(revision));
        }
        let another = book.token().replace("01:", "02:");
        let padded = book.token().replace(":7", ":07");
        for refused in [
            book.token_at(8),
            book.token_at(-1),
            another,
            padded,
            "7".into(),
        ] {
            assert_eq!(of(&refused), None, "{refused}");
        }
    }
}
