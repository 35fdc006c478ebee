//! Bunks in two huts, for the page "A transaction is a value": locked in one order, moved together or not at all.

use sqlx::{Connection, PgConnection};

// ANCHOR: huts
/// Moves a bunk from one hut to another, and says whether there was one to move.
pub async fn move_a_bunk(
    connection: &mut PgConnection,
    from: &str,
    to: &str,
) -> sqlx::Result<bool> {
    let mut transaction = connection.begin().await?;

    let huts: Vec<(String, i32)> = sqlx::query_as(
        "SELECT name, free FROM huts WHERE name IN ($1, $2) ORDER BY name FOR UPDATE",
    )
    .bind(from)
    .bind(to)
    .fetch_all(&mut *transaction)
    .await?;
    if huts.iter().all(|(name, free)| name != from || *free == 0) {
        return Ok(false); // and the transaction?
    }

    sqlx::query(
        "UPDATE huts SET free = free + CASE name WHEN $1 THEN -1 ELSE 1 END WHERE name IN ($1, $2)",
    )
    .bind(from)
    .bind(to)
    .execute(&mut *transaction)
    .await?;
    transaction.commit().await?;
    Ok(true)
}
// ANCHOR_END: huts
