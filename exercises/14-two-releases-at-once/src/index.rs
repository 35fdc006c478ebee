//! The index of the visits without a time. The backfill walks along it, and it tells at once how many
//! are left. It is dropped with the old column.

use std::time::Duration;

use sqlx::PgConnection;

/// The advisory lock of the instance that builds the index. Any number will do: the service has no other.
const BUILDING: i64 = 19;

/// How long to wait before the next attempt to get the lock.
const PAUSE: Duration = Duration::from_millis(200);

// ANCHOR: index
/// Makes sure that there is a valid index. `CONCURRENTLY` blocks no visit, but if it is interrupted, it
/// leaves an invalid index behind, and every visit still pays for that.
///
/// One of several instances builds, and the others look again later. They don't wait in the database: a
/// query that waits has a snapshot, and `CONCURRENTLY` waits for all snapshots.
///
/// # Errors
/// The database does not answer, or gives up. The lock is then released with the connection.
pub async fn build(connection: &mut PgConnection) -> sqlx::Result<()> {
    todo!(
        "try the lock {BUILDING}, again after {PAUSE:?}; look, drop and create on {connection:?}; unlock"
    )
}
// ANCHOR_END: index
