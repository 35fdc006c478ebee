//! Who is in the way of a change to the table.

use sqlx::PgConnection;

// ANCHOR: in-the-way
/// The sessions that hold a lock on `records`, the oldest transaction first: for the person who wants
/// to know why a release doesn't get ready.
///
/// # Errors
/// The database does not answer.
pub async fn in_the_way(connection: &mut PgConnection) -> sqlx::Result<String> {
    todo!("ask {connection:?} for pid, application_name and xact_start of each")
}
// ANCHOR_END: in-the-way
