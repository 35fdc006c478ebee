//! Visits: marks records as visited, one by its id, or many at once.

use axum::{Json, extract::State};
use serde::{Deserialize, Serialize};
use sqlx::{Connection, PgConnection};

use crate::{
    caller::{Allowed, Write},
    database::Database,
    error::Error,
    extract::{Id, JsonObject},
    records::Record,
    settings::MAX_IDS,
};

/// `POST /records/{id}/visit`: marks a record as visited, and returns it. Idempotent.
pub async fn visit(
    _caller: Allowed<Write>,
    Id(id): Id,
    State(database): State<Database>,
) -> Result<Json<Record>, Error> {
    let record = database
        .run("UPDATE records", async |connection| {
            sqlx::query_as!(
                Record,
                "UPDATE records SET visited = true WHERE id = $1 \
                 RETURNING id, value, odd, divisible_by_3, visited",
                id
            )
            .fetch_optional(connection)
            .await
        })
        .await?;

    match record {
        Some(record) => Ok(Json(record)),
        None => Err(Error::NotFound(format!("there is no record with id {id}"))),
    }
}

/// The body of the request.
#[derive(Deserialize)]
pub struct Visits {
    ids: Vec<i32>,
}

/// The body of the response: the number of distinct records in the request.
#[derive(Serialize)]
pub struct Visited {
    visited: usize,
}

/// `POST /visits`: marks the records with these ids, and returns their number. Nothing
/// changes if one does not exist (404) or the body is unusable (400, 413, 415, 422).
pub async fn visit_all(
    _caller: Allowed<Write>,
    State(database): State<Database>,
    JsonObject(Visits { mut ids }): JsonObject<Visits>,
) -> Result<Json<Visited>, Error> {
    if ids.len() > MAX_IDS {
        return Err(Error::UnusableBody);
    }
    ids.sort_unstable();
    ids.dedup();

    let missing = database
        .run("UPDATE records", async |connection| {
            mark(connection, &ids).await
        })
        .await?;

    if missing.is_empty() {
        Ok(Json(Visited { visited: ids.len() }))
    } else {
        let missing: Vec<String> = missing.iter().map(i32::to_string).collect();
        let missing = missing.join(", ");
        let detail = format!("there are no records with the ids {missing}");
        Err(Error::NotFound(detail))
    }
}

/// Marks all of these records as visited, and returns an empty list. If any of them don't
/// exist, marks none and returns the missing ids. `ids` must be sorted, without duplicates.
///
/// The records are locked first, in ascending order, so concurrent requests can't deadlock.
async fn mark(connection: &mut PgConnection, ids: &[i32]) -> sqlx::Result<Vec<i32>> {
    let mut transaction = connection.begin().await?;

    let found = sqlx::query_scalar!(
        "SELECT id FROM records WHERE id = ANY($1) ORDER BY id FOR UPDATE",
        ids
    )
    .fetch_all(&mut *transaction)
    .await?;
    let missing: Vec<i32> = ids
        .iter()
        .copied()
        .filter(|id| found.binary_search(id).is_err())
        .collect();
    if !missing.is_empty() {
        transaction.rollback().await?;
        return Ok(missing);
    }

    sqlx::query!(
        "UPDATE records SET visited = true WHERE id = ANY($1) AND NOT visited",
        ids
    )
    .execute(&mut *transaction)
    .await?;
    transaction.commit().await?;
    Ok(missing)
}
