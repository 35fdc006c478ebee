//! The backfill: sets `visited_at` on the visits that have no time yet.

use std::time::Duration;

use sqlx::PgConnection;

/// The maximum number of rows that one transaction locks, and that an abort undoes.
const BATCH: i64 = 1000;

/// `REST`: the minimum pause after a batch. `AGAIN`: the pause before locked rows are retried.
const REST: Duration = Duration::from_millis(20);
const AGAIN: Duration = Duration::from_millis(500);

// ANCHOR: backfill
/// Backfills batch by batch, and returns when every visit has a time.
///
/// The rows themselves show what is left to do, so the backfill resumes
/// where it was interrupted, and several instances can share the work.
///
/// # Errors
/// The database does not answer.
pub async fn run(connection: &mut PgConnection) -> sqlx::Result<()> {
    let last = batch(connection, i64::MIN).await?;
    todo!(
        "batches after {last:?}, with a rest of {REST:?}; {AGAIN:?} later again, until none is left"
    )
}

/// Backfills the next visits after this id with the time of release 2's first migration: none
/// of them happened later. Returns the last id, or `None` if there are no more unlocked visits.
async fn batch(connection: &mut PgConnection, after: i64) -> sqlx::Result<Option<i32>> {
    todo!("a time for the next {BATCH} visits after {after}, by {connection:?}")
}
// ANCHOR_END: backfill
