//! The sessions that block a change to the table.

use sqlx::PgConnection;

// ANCHOR: in-the-way
/// Lists the sessions that hold a lock on `records`, oldest transaction first,
/// so that an operator can see why a release doesn't become ready.
///
/// # Errors
/// The database does not answer.
pub async fn in_the_way(connection: &mut PgConnection) -> sqlx::Result<String> {
    let sessions: Vec<String> = sqlx::query_scalar(
        "SELECT format('pid %s (%s), since %s', pid, \
                       coalesce(nullif(application_name, ''), 'without a name'), xact_start) \
         FROM pg_locks JOIN pg_stat_activity USING (pid) \
         WHERE relation = to_regclass('records') AND granted AND pid <> pg_backend_pid() \
         GROUP BY pid, application_name, xact_start ORDER BY xact_start",
    )
    .fetch_all(connection)
    .await?;
    Ok(sessions.join("; "))
}
// ANCHOR_END: in-the-way
