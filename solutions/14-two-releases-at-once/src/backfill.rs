//! The backfill: sets `visited_at` on the visits that have no time yet.

use std::time::{Duration, Instant};

use rocket::tokio::time::sleep;
use sqlx::PgConnection;
use tracing::info;

use crate::moving::undated;

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
    loop {
        let left = undated(connection).await?;
        if left == 0 {
            return Ok(());
        }
        info!("{left} visits have no time yet");
        let mut after = i64::MIN;
        loop {
            let began = Instant::now();
            let Some(last) = batch(connection, after).await? else {
                break;
            };
            after = last.into();
            // Pauses at least as long as the batch took, so that requests can make their own changes.
            sleep(began.elapsed().max(REST)).await;
        }
        // Another pass may be needed: the batches skipped rows that other transactions had locked.
        sleep(AGAIN).await;
    }
}

/// Backfills the next visits after this id with the time of release 2's first migration: none
/// of them happened later. Returns the last id, or `None` if there are no more unlocked visits.
async fn batch(connection: &mut PgConnection, after: i64) -> sqlx::Result<Option<i32>> {
    let ids: Vec<i32> = sqlx::query_scalar(
        "WITH batch AS ( \
             SELECT id FROM records WHERE visited AND visited_at IS NULL AND id > $1 \
             ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED) \
         UPDATE records \
         SET visited_at = (SELECT installed_on FROM _sqlx_migrations WHERE version = 2) \
         FROM batch WHERE records.id = batch.id RETURNING records.id",
    )
    .bind(after)
    .bind(BATCH)
    .fetch_all(connection)
    .await?;
    Ok(ids.into_iter().max())
}
// ANCHOR_END: backfill
