//! The records: one by its id, and all of them page by page.

use axum::{Json, extract::State};
use serde::Serialize;
use sqlx::FromRow;

use crate::{
    caller::{Allowed, Read},
    database::Database,
    error::Error,
    extract::{Id, PageQuery},
};

/// One record. Its fields, the table's columns and the JSON members have the same names.
#[derive(FromRow, Serialize)]
pub struct Record {
    pub id: i32,
    pub value: String,
    pub odd: bool,
    pub divisible_by_3: bool,
    pub visited: bool,
}

// ANCHOR: read
/// `GET /read/{id}`: the record, or 400 if the id isn't a 32-bit integer, 404 if no record
/// has it, 503 if the database does not answer. Requires a key, or a token with the scope.
pub async fn read(
    _caller: Allowed<Read>,
    Id(id): Id,
    State(database): State<Database>,
) -> Result<Json<Record>, Error> {
    find(id, &database).await.map(Json)
}

/// The record with this id.
///
/// # Errors
/// No record has this id, or the database does not answer.
pub async fn find(id: i32, database: &Database) -> Result<Record, Error> {
    let record = database
        .read("SELECT records", async |connection| {
            sqlx::query_as!(
                Record,
                "SELECT id, value, odd, divisible_by_3, visited FROM records WHERE id = $1",
                id
            )
            .fetch_optional(connection)
            .await
        })
        .await?;

    record.ok_or_else(|| Error::NotFound(format!("there is no record with id {id}")))
}
// ANCHOR_END: read

/// One page. `next` is the value of `after` for the following page, if there is one.
#[derive(Serialize)]
pub struct Page {
    records: Vec<Record>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<i32>,
}

/// `GET /records`: the records with the lowest ids above `after`, at most `limit` of them.
pub async fn page(
    _caller: Allowed<Read>,
    PageQuery { after, limit }: PageQuery,
    State(database): State<Database>,
) -> Result<Json<Page>, Error> {
    // Fetch one record more than requested: if it exists, there is a next page.
    let mut records = database
        .read("SELECT records", async |connection| {
            sqlx::query_as!(
                Record,
                "SELECT id, value, odd, divisible_by_3, visited FROM records \
                 WHERE id > $1 ORDER BY id LIMIT $2",
                after,
                i64::from(limit) + 1
            )
            .fetch_all(connection)
            .await
        })
        .await?;

    let limit = usize::from(limit);
    let mut next = None;
    if records.len() > limit {
        records.truncate(limit);
        next = records.last().map(|record| record.id);
    }
    Ok(Json(Page { records, next }))
}
