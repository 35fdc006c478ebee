//! The backfill: gives a time to the visits that have none.

use std::time::Duration;

use sqlx::PgConnection;

/// The maximum number of rows per transaction: locked until it ends, redone if it is aborted.
const BATCH: i64 = 1000;

/// The minimum pause after a batch, and the pause before locked rows are tried again.
const REST: Duration = Duration::from_millis(20);
const AGAIN: Duration = Duration::from_millis(500);

// ANCHOR: backfill
/// Returns when every visit has a time.
///
/// The rows themselves show what is left to do. So the backfill resumes
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

/// Backfills the next visits after this id with the time of release 2's first migration: they
/// happened then or earlier. Returns the last id, or `None` if no unlocked visits are left.
async fn batch(connection: &mut PgConnection, after: i64) -> sqlx::Result<Option<i32>> {
    todo!("a time for the next {BATCH} visits after {after}, by {connection:?}")
}
// ANCHOR_END: backfill
