//! What an instance of release 2 does beside its requests, until every visit has a time.

use sqlx::{ConnectOptions, PgConnection, postgres::PgConnectOptions};
use tracing::warn;

use crate::{backfill, index, statements::VisitedFrom};

// ANCHOR: moving
// ANCHOR: bring-along
/// Builds the index, then fills the new column.
///
/// # Errors
/// The database does not answer. What is done stays done.
pub async fn bring_along(database: &PgConnectOptions, from: VisitedFrom) -> sqlx::Result<()> {
    let mut connection = database.connect().await?;
    if !has_old_column(&mut connection).await? {
        return Ok(());
    }
    let left = undated(&mut connection).await?;
    if left > 0 && from == VisitedFrom::VisitedAt {
        warn!("VISITED_FROM is visited_at, and {left} visits have no time yet: not ready before");
    }
    index::build(&mut connection).await?;
    backfill::run(&mut connection).await
}
// ANCHOR_END: bring-along

/// How many visits have no time yet.
///
/// # Errors
/// The database does not answer.
pub async fn undated(connection: &mut PgConnection) -> sqlx::Result<i64> {
    sqlx::query_scalar("SELECT count(*) FROM records WHERE visited AND visited_at IS NULL")
        .fetch_one(connection)
        .await
}

/// Whether the contract step is still to come.
///
/// # Errors
/// The database does not answer.
pub async fn has_old_column(connection: &mut PgConnection) -> sqlx::Result<bool> {
    sqlx::query_scalar(
        "SELECT EXISTS (SELECT FROM pg_attribute WHERE attrelid = to_regclass('records') \
                        AND attname = 'visited' AND NOT attisdropped)",
    )
    .fetch_one(connection)
    .await
}
// ANCHOR_END: moving
