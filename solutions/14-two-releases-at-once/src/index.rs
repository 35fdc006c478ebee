//! The partial index on the visits without a time. The backfill uses the index to find the next
//! rows and to count the remaining ones. Dropping the old column also drops the index.

use std::time::Duration;

use rocket::tokio::time::sleep;
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
