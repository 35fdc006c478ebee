//! The sessions that block a change to the table.

use sqlx::{Connection, PgConnection};

// ANCHOR: in-the-way
/// Lists the sessions that hold a lock on `records`, oldest transaction first,
/// so that an operator can see why a release doesn't become ready.
///
/// # Errors
/// The database does not answer.
pub async fn in_the_way(connection: &mut PgConnection) -> sqlx::Result<String> {
    // TODO: pid, application_name and xact_start of each
    connection.ping().await?;
    Ok(String::new())
}
// ANCHOR_END: in-the-way
