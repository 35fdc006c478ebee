//! The index of the visits without a time. The backfill walks along it, and it tells at once how many
//! are left. It is dropped with the old column.

use std::time::Duration;

use rocket::tokio::time::sleep;
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
    while !sqlx::query_scalar("SELECT pg_try_advisory_lock($1)")
        .bind(BUILDING)
        .fetch_one(&mut *connection)
        .await?
    {
        sleep(PAUSE).await;
    }
    let is_valid: Option<bool> = sqlx::query_scalar(
        "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('records_undated')",
    )
    .fetch_optional(&mut *connection)
    .await?;
    if is_valid == Some(false) {
        sqlx::raw_sql("DROP INDEX CONCURRENTLY records_undated")
            .execute(&mut *connection)
            .await?;
    }
    if is_valid != Some(true) {
        sqlx::raw_sql(
            "CREATE INDEX CONCURRENTLY records_undated ON records (id) \
             WHERE visited AND visited_at IS NULL",
        )
        .execute(&mut *connection)
        .await?;
    }
    sqlx::query("SELECT pg_advisory_unlock($1)")
        .bind(BUILDING)
        .execute(&mut *connection)
        .await?;
    Ok(())
}
// ANCHOR_END: index
