//! Writes each visit and its event in one transaction, if this service owns visits.

use sqlx::{Connection, PgConnection};

use crate::{
    ownership::{self, Owner},
    record::Record,
};

// ANCHOR: if-mine
/// Runs `change` if this service owns visits. If visits are shared, also adds events to the
/// outbox, in the same transaction. Returns `None` if this service doesn't own visits.
///
/// # Errors
/// The database does not answer.
async fn if_mine<T>(
    connection: &mut PgConnection,
    visited: bool,
    change: impl AsyncFnOnce(&mut PgConnection) -> sqlx::Result<(T, Vec<i32>)>,
) -> sqlx::Result<Option<T>> {
    let mut transaction = connection.begin().await?;
    let owner = ownership::held(&mut transaction).await?;
    if owner == Owner::Other {
        // A drop would defer the rollback to the connection's next statement, and block a switch until then.
        transaction.rollback().await?;
        return Ok(None);
    }
    let (answer, ids) = change(&mut transaction).await?;
    if owner == Owner::Me {
        sqlx::query("INSERT INTO visits_outbox (id, visited) SELECT id, $2 FROM unnest($1) AS id")
            .bind(ids)
            .bind(visited)
            .execute(&mut *transaction)
            .await?;
    }
    transaction.commit().await?;
    Ok(Some(answer))
}
// ANCHOR_END: if-mine

/// Marks a record as visited or not, and returns it; the inner `None` means there is no record.
///
/// # Errors
/// The database does not answer.
pub async fn mark(
    connection: &mut PgConnection,
    id: i32,
    visited: bool,
) -> sqlx::Result<Option<Option<Record>>> {
    if_mine(connection, visited, async |connection| {
        let record: Option<Record> = sqlx::query_as(
            "UPDATE records SET visited = $2 WHERE id = $1 \
             RETURNING id, value, odd, divisible_by_3, visited",
        )
        .bind(id)
        .bind(visited)
        .fetch_optional(connection)
        .await?;
        let ids = record.iter().map(|record| record.id).collect();
        Ok((record, ids))
    })
    .await
}

// ANCHOR: mark
/// Marks all of these records as visited, and returns an empty list. If any don't exist,
/// marks none and returns the missing ids. The `ids` must be sorted, without duplicates.
///
/// The records are locked first, in ascending order of their ids: if two requests share
/// records, one waits for the other. Without that order, they could deadlock.
///
/// # Errors
/// The database does not answer.
pub async fn mark_all(
    connection: &mut PgConnection,
    ids: &[i32],
) -> sqlx::Result<Option<Vec<i32>>> {
    if_mine(connection, true, async |connection| {
        let found: Vec<i32> =
            sqlx::query_scalar("SELECT id FROM records WHERE id = ANY($1) ORDER BY id FOR UPDATE")
                .bind(ids)
                .fetch_all(&mut *connection)
                .await?;
        let is_missing = |id: &i32| found.binary_search(id).is_err();
        let missing: Vec<i32> = ids.iter().copied().filter(is_missing).collect();
        if !missing.is_empty() {
            return Ok((missing, Vec::new()));
        }
        sqlx::query("UPDATE records SET visited = true WHERE id = ANY($1) AND NOT visited")
            .bind(ids)
            .execute(connection)
            .await?;
        Ok((missing, ids.to_owned()))
    })
    .await
}
// ANCHOR_END: mark
