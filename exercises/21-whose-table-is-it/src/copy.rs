//! `service copy`: brings old visits, from the time before the outbox, into this service's table, while new ones arrive.

use sqlx::PgConnection;

/// The maximum number of rows that are copied at once.
const BATCH: i64 = 1000;

/// The result of a copy.
#[derive(Debug, Default)]
pub struct Copied {
    /// How many visits were looked at.
    pub looked_at: usize,
    /// The ids of those whose record is missing from this service's table.
    pub unknown: Vec<i32>,
}

// ANCHOR: copy
/// Copies every visit without an event. A record that an event was applied to is left alone: the
/// event is newer. A record that is missing from this table doesn't hold up the others.
///
/// # Errors
/// One of the databases does not answer. What is copied stays copied.
pub async fn copy(from: &mut PgConnection, to: &mut PgConnection) -> sqlx::Result<Copied> {
    let copied = Copied::default();
    todo!("{BATCH} visits at a time, from {from:?} to {to:?}, and {copied:?} says what came of it")
}
// ANCHOR_END: copy
