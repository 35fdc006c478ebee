//! Applies one service's events to the other service's table: each once, and never a stale one.

#![expect(dead_code, reason = "delete this line once `batch` applies events")]

use std::time::Duration;

use sqlx::{FromRow, PgConnection, postgres::PgListener};

/// The maximum number of events claimed in one transaction.
const BATCH: i64 = 100;

// ANCHOR: event
/// A change to a record: it was marked as visited, or the mark was removed.
#[derive(Debug, FromRow)]
pub struct Event {
    pub seq: i64,
    pub epoch: i64,
    pub id: i32,
    pub visited: bool,
}
// ANCHOR_END: event

// ANCHOR: batch
/// Claims up to `BATCH` events of one outbox that no other worker has claimed, applies them
/// to the other database, and acknowledges them. Returns the number of claimed events.
///
/// # Errors
/// One of the databases does not answer. The claimed events are then released.
pub async fn batch(from: &mut PgConnection, to: &mut PgConnection) -> sqlx::Result<usize> {
    todo!("claim at most {BATCH} events from {from:?}, apply them to {to:?}, acknowledge them")
}
// ANCHOR_END: batch

// ANCHOR: apply
/// Applies one event, in one statement, unless the record already has the event or a newer one.
async fn apply(to: &mut PgConnection, event: &Event) -> sqlx::Result<()> {
    todo!("{event:?} to {to:?}, unless something newer was applied")
}

/// Whether the event itself is at fault, so that a retry can't help: its data is invalid
/// or violates a constraint (SQLSTATE classes 22 and 23). Every other error is transient.
fn is_poison(error: &sqlx::Error) -> bool {
    todo!("is {error} the event's fault?")
}
// ANCHOR_END: apply

// ANCHOR: woken
/// Waits for a notification of an event, but returns after `poll` at the latest: a
/// listener whose connection is silently lost gets no notifications.
///
/// # Errors
/// The database does not answer.
pub async fn woken(listener: &mut PgListener, poll: Duration) -> sqlx::Result<()> {
    todo!("a word from {listener:?}, or {poll:?}")
}
// ANCHOR_END: woken
