//! `POST /visits`: marks many records as visited, all of them or none.

use rocket::{
    State,
    http::ContentType,
    post,
    serde::json::{self, Json},
};
use serde::{Deserialize, Serialize};
use sqlx::{Connection, PgConnection};

use crate::{api_key::ApiKey, database::Database, error::Error, object::Object, settings::MAX_IDS};

// ANCHOR: bodies
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
// ANCHOR_END: bodies

// ANCHOR: visits
/// Marks the records with these ids as visited, and returns the number of records. Nothing
/// changes if a record doesn't exist (404) or the body is invalid (400, 413, 415, 422).
#[post("/visits", data = "<visits>")]
pub async fn visits(
    _key: ApiKey,
    content_type: Option<&ContentType>,
    visits: Result<Json<Object<Visits>>, json::Error<'_>>,
    database: &State<Database>,
) -> Result<Json<Visited>, Error> {
    if !content_type.is_some_and(|content_type| content_type.is_json()) {
        return Err(Error::UnsupportedMediaType);
    }
    let Object(Visits { mut ids }) = visits?.into_inner();
    if ids.len() > MAX_IDS {
        return Err(Error::UnusableBody);
    }
    ids.sort_unstable();
    ids.dedup();

    let missing = database
        .run(async |connection| mark(connection, &ids).await)
        .await?;

    if missing.is_empty() {
        Ok(Json(Visited { visited: ids.len() }))
    } else {
        let missing: Vec<String> = missing.iter().map(i32::to_string).collect();
        Err(Error::NotFound(format!(
            "there are no records with the ids {}",
            missing.join(", ")
        )))
    }
}
// ANCHOR_END: visits

// ANCHOR: mark
/// Marks all of these records and returns an empty list, or marks none and returns the ids that
/// no record has. `ids` must be in ascending order, without duplicates.
///
/// Locks the records in ascending order first, so two requests for the same records can't
/// deadlock. If the order differed, each request could hold a lock that the other waits for.
async fn mark(connection: &mut PgConnection, ids: &[i32]) -> sqlx::Result<Vec<i32>> {
    let mut transaction = connection.begin().await?;

    let found: Vec<i32> =
        sqlx::query_scalar("SELECT id FROM records WHERE id = ANY($1) ORDER BY id FOR UPDATE")
            .bind(ids)
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

    sqlx::query("UPDATE records SET visited = true WHERE id = ANY($1) AND NOT visited")
        .bind(ids)
        .execute(&mut *transaction)
        .await?;
    transaction.commit().await?;
    Ok(missing)
}
// ANCHOR_END: mark
