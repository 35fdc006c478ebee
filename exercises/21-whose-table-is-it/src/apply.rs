//! Applies the events of one service to the other's table: each event once, and never an older one over a newer one.

#![expect(dead_code, reason = "delete this line once `batch` applies events")]

use std::time::Duration;

use sqlx::{FromRow, PgConnection, postgres::PgListener};

/// The maximum number of events that are claimed together.
const BATCH: i64 = 100;

// ANCHOR: event
/// A change of a record: its visit, or that it was taken back.
#[derive(Debug, FromRow)]
pub struct Event {
    pub seq: i64,
    pub epoch: i64,
    pub id: i32,
    pub visited: bool,
}
// ANCHOR_END: event

// ANCHOR: batch
/// Claims events of one outbox, at most `BATCH` that no other worker has, applies them to the other
/// database, and acknowledges them. Returns how many there were.
///
/// # Errors
/// One of the databases does not answer. The claimed events are free again.
pub async fn batch(from: &mut PgConnection, to: &mut PgConnection) -> sqlx::Result<usize> {
    todo!("claim at most {BATCH} events from {from:?}, apply them to {to:?}, acknowledge them")
}
// ANCHOR_END: batch

// ANCHOR: apply
/// Applies one event, in one statement. An event that isn't newer than the applied one changes nothing.
async fn apply(to: &mut PgConnection, event: &Event) -> sqlx::Result<()> {
    todo!("{event:?} to {to:?}, unless something newer was applied")
}

/// Whether the event itself is at fault, now and later: its data are invalid (22), or violate a
/// constraint (23). Everything else is an outage, and passes.
fn is_poison(error: &sqlx::Error) -> bool {
    todo!("is {error} the event's fault?")
}
// ANCHOR_END: apply

// ANCHOR: woken
/// Returns at a notification of an event, or when it's time to look anyway: a listener that
/// has lost its connection gets no notifications, and doesn't find out.
///
/// # Errors
/// The database does not answer.
pub async fn woken(listener: &mut PgListener, poll: Duration) -> sqlx::Result<()> {
    todo!("a word from {listener:?}, or {poll:?}")
}
// ANCHOR_END: woken
