//! `service copy`: backfills visits that predate the outbox, while new visits keep arriving.

use sqlx::PgConnection;

/// The maximum number of rows per batch.
const BATCH: i64 = 1000;

/// The result of a copy.
#[derive(Debug, Default)]
pub struct Copied {
    /// The number of visits that were examined.
    pub looked_at: usize,
    /// The ids of visits whose record is missing from this service's table.
    pub unknown: Vec<i32>,
}

// ANCHOR: copy
/// Copies every visit, unless an event was already applied to the record: events are newer.
/// A record that is missing from this table doesn't stop the copy.
///
/// # Errors
/// One of the databases does not answer. Visits that were already copied stay copied.
pub async fn copy(from: &mut PgConnection, to: &mut PgConnection) -> sqlx::Result<Copied> {
    let copied = Copied::default();
    todo!("{BATCH} visits at a time, from {from:?} to {to:?}, and {copied:?} says what came of it")
}
// ANCHOR_END: copy
