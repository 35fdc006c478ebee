//! The background work of release 2: the index and the backfill, until every visit has a time.

use sqlx::{ConnectOptions, PgConnection, postgres::PgConnectOptions};

use crate::{backfill, index};

// ANCHOR: moving
// ANCHOR: bring-along
/// Builds the index, then backfills the new column. Opens a new connection outside
/// of the request pool, and closes it at once if there is nothing to do.
///
/// # Errors
/// The database does not answer. Committed batches stay committed.
pub async fn bring_along(database: &PgConnectOptions) -> sqlx::Result<()> {
    let mut connection = database.connect().await?;
    if left(&mut connection).await? == 0 {
        return Ok(());
    }
    index::build(&mut connection).await?;
    backfill::run(&mut connection).await
}
// ANCHOR_END: bring-along

/// The number of visits left to backfill: 0 before the expand step and after the contract step.
///
/// # Errors
/// The database does not answer.
pub async fn left(connection: &mut PgConnection) -> sqlx::Result<i64> {
    if has_column(connection, "visited").await? && has_column(connection, "visited_at").await? {
        undated(connection).await
    } else {
        Ok(0)
    }
}

/// How many visits have no time yet.
///
/// # Errors
/// The database does not answer.
pub async fn undated(connection: &mut PgConnection) -> sqlx::Result<i64> {
    sqlx::query_scalar("SELECT count(*) FROM records WHERE visited AND visited_at IS NULL")
        .fetch_one(connection)
        .await
}

/// Whether the old column still exists: the contract step drops it.
///
/// # Errors
/// The database does not answer.
pub async fn has_old_column(connection: &mut PgConnection) -> sqlx::Result<bool> {
    has_column(connection, "visited").await
}

async fn has_column(connection: &mut PgConnection, name: &str) -> sqlx::Result<bool> {
    sqlx::query_scalar(
        "SELECT EXISTS (SELECT FROM pg_attribute WHERE attrelid = to_regclass('records') \
                        AND attname = $1 AND NOT attisdropped)",
    )
    .bind(name)
    .fetch_one(connection)
    .await
}
// ANCHOR_END: moving
