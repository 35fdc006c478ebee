//! The backfill: gives the visits from before a time.

use std::time::Duration;

use sqlx::PgConnection;

/// The most rows of one transaction: so many are held while it runs, and lost when it is killed.
const BATCH: i64 = 1000;

/// The shortest rest after a batch, and the rest before rows are tried again that somebody held.
const REST: Duration = Duration::from_millis(20);
const AGAIN: Duration = Duration::from_millis(500);

// ANCHOR: backfill
/// Returns when every visit has a time.
///
/// What is left to do is in the rows themselves. So it goes on where it was killed, and several
/// instances can share the work.
///
/// # Errors
/// The database does not answer.
pub async fn run(connection: &mut PgConnection) -> sqlx::Result<()> {
    let last = batch(connection, i64::MIN).await?;
    todo!(
        "batches after {last:?}, with a rest of {REST:?}; {AGAIN:?} later again, until none is left"
    )
}

/// Gives the next visits after this id a time, that of the first migration of release 2: they happened
/// then or earlier. Returns the last of their ids; none when there are no more that nobody holds.
async fn batch(connection: &mut PgConnection, after: i64) -> sqlx::Result<Option<i32>> {
    todo!("a time for the next {BATCH} visits after {after}, by {connection:?}")
}
// ANCHOR_END: backfill
