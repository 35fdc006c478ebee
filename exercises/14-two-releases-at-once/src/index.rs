//! The partial index on the visits without a time. The backfill uses the index to find the next
//! rows and to count the remaining ones. Dropping the old column also drops the index.

use std::time::Duration;

use sqlx::PgConnection;

/// The advisory lock key for building the index: arbitrary, but used for nothing else.
const BUILDING: i64 = 19;

/// How long to wait before the next attempt to get the lock.
const PAUSE: Duration = Duration::from_millis(200);

// ANCHOR: index
/// Makes sure that there is a valid index. `CONCURRENTLY` doesn't block visits, but an
/// interrupted build leaves an invalid index behind, which every visit still has to maintain.
///
/// One instance builds the index, and the others check again later. They don't wait in the
/// database: a waiting query holds a snapshot, and `CONCURRENTLY` waits for all snapshots.
///
/// # Errors
/// The database does not answer, or aborts the build. Closing the connection releases the lock.
pub async fn build(connection: &mut PgConnection) -> sqlx::Result<()> {
    todo!(
        "try the lock {BUILDING}, again after {PAUSE:?}; look, drop and create on {connection:?}; unlock"
    )
}
// ANCHOR_END: index
