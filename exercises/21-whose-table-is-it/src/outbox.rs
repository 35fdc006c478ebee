//! The events in an outbox: those that wait to be applied, and those that were put aside.

use sqlx::PgConnection;

/// How many events wait to be applied, and how many were put aside.
///
/// # Errors
/// The database does not answer.
pub async fn counts(connection: &mut PgConnection) -> sqlx::Result<(i64, i64)> {
    sqlx::query_as(
        "SELECT count(*) FILTER (WHERE reason IS NULL), count(reason) FROM visits_outbox",
    )
    .fetch_one(connection)
    .await
}

/// Whether either of the two outboxes has a pending event for this record.
///
/// # Errors
/// One of the databases does not answer.
pub async fn is_under_way(
    theirs: &mut PgConnection,
    ours: &mut PgConnection,
    id: i32,
) -> sqlx::Result<bool> {
    for connection in [theirs, ours] {
        let waits = sqlx::query_scalar(
            "SELECT EXISTS (SELECT FROM visits_outbox WHERE id = $1 AND reason IS NULL)",
        );
        if waits.bind(id).fetch_one(connection).await? {
            return Ok(true);
        }
    }
    Ok(false)
}
