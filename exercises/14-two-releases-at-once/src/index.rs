//! The index of the visits without a time. The backfill walks along it, and it tells at once how many
//! are left. It goes with the old column.

use std::time::Duration;

use sqlx::PgConnection;

/// The lock of the instance that builds the index. Only this service's numbers matter: it has no other.
const BUILDING: i64 = 19;

/// How long to wait before the next attempt to get the lock.
const PAUSE: Duration = Duration::from_millis(200);

// ANCHOR: index
/// Makes sure that there is an index, and that it is valid. `CONCURRENTLY` holds up no visit, but what is
/// interrupted stays there, invalid, and every visit still pays for it.
///
/// Of several instances one builds, and the others look again later. They don't wait in the database: a
/// query that waits has a snapshot, and `CONCURRENTLY` waits for all of these.
///
/// # Errors
/// The database does not answer, or gives up. The lock then goes with the connection.
pub async fn build(connection: &mut PgConnection) -> sqlx::Result<()> {
    todo!(
        "try the lock {BUILDING}, again after {PAUSE:?}; look, drop and create on {connection:?}; unlock"
    )
}
// ANCHOR_END: index
