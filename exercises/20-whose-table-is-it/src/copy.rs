//! `service copy`: brings old visits, from the time before the outbox, into this service's table, while new ones come.

use sqlx::PgConnection;

/// The most rows that are copied at once.
const BATCH: i64 = 1000;

// ANCHOR: copy
/// Copies every visit that no event has told of, and returns how many it has looked at. A record that an
/// event was applied to is left alone: the event is newer.
///
/// # Errors
/// One of the databases does not answer. What is copied stays copied.
pub async fn copy(from: &mut PgConnection, to: &mut PgConnection) -> sqlx::Result<usize> {
    todo!("{BATCH} visits at a time, from {from:?} to {to:?}")
}
// ANCHOR_END: copy
