//! Expiry of idempotency keys: after a day, no client still retries the same report.

use std::time::Duration;

use sqlx::Connection;
use tokio::time::sleep;
use tracing::error;

use crate::{database::Database, error::Error};

/// The maximum number of keys per transaction. A long transaction would delay new reports.
const BATCH: i64 = 1000;

/// The pauses between two removals: the usual one, and the one after an outage.
const PAUSE: Duration = Duration::from_secs(600);
const SOON: Duration = Duration::from_secs(1);

// ANCHOR: forget
/// Removes keys that are older than a day, as long as the service runs.
pub async fn forget_old_keys(database: Database) {
    loop {
        let pause = match remove(&database).await {
            Ok(BATCH) => continue, // there are more
            Ok(_) => PAUSE,
            Err(Error::Query(error)) => {
                error!("old idempotency keys cannot be removed: {error}");
                PAUSE
            }
            Err(_) => SOON,
        };
        sleep(pause).await;
    }
}

/// Removes up to `BATCH` expired keys, oldest first, and returns how many.
async fn remove(database: &Database) -> Result<i64, Error> {
    let remove = database.write(async |connection| {
        let mut transaction = connection.begin().await?;
        // A key must not be deleted between the two statements of `add_once`.
        sqlx::query("SELECT pg_advisory_xact_lock($1)")
            .bind(ADDING)
            .execute(&mut *transaction)
            .await?;
        let removed = sqlx::query_scalar(
            "WITH removed AS ( \
                 DELETE FROM idempotency_keys WHERE (client, key) IN ( \
                     SELECT client, key FROM idempotency_keys \
                     WHERE reported_at < now() - interval '24 hours' ORDER BY reported_at LIMIT $1 \
                 ) RETURNING key \
             ) \
             SELECT count(*) FROM removed",
        )
        .bind(BATCH)
        .fetch_one(&mut *transaction)
        .await?;
        transaction.commit().await?;
        Ok(removed)
    });
    remove.await
}
// ANCHOR_END: forget

/// The id of the advisory lock that is held while a report is added. The number is arbitrary.
pub const ADDING: i64 = 18;
