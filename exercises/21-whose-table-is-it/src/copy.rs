//! `service copy`: brings old visits, from the time before the outbox, into this service's table, while new ones come.

use sqlx::PgConnection;

/// The most rows that are copied at once.
const BATCH: i64 = 1000;

/// What a copy has come to.
#[derive(Debug, Default)]
pub struct Copied {
    /// How many visits were looked at.
    pub looked_at: usize,
    /// Those of them whose record this service's table lacks.
    pub unknown: Vec<i32>,
}

// ANCHOR: copy
/// Copies every visit that no event has told of. A record that an event was applied to is left alone: the
/// event is newer. One that this table lacks holds up no other.
///
/// # Errors
/// One of the databases does not answer. What is copied stays copied.
pub async fn copy(from: &mut PgConnection, to: &mut PgConnection) -> sqlx::Result<Copied> {
    let copied = Copied::default();
    todo!("{BATCH} visits at a time, from {from:?} to {to:?}, and {copied:?} says what came of it")
}
// ANCHOR_END: copy
