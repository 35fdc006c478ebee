//! `GET /records?after=&limit=`: the records, page by page.

use rocket::{FromForm, State, form, get, serde::json::Json};
use serde::Serialize;

use crate::{api_key::ApiKey, database::Database, error::Error, record::Record};

// ANCHOR: page
/// One page. `next` is the value of `after` for the following page, if there is one.
#[derive(Serialize)]
pub struct Page {
    records: Vec<Record>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<i32>,
}
// ANCHOR_END: page

// ANCHOR: page-query
/// The page that a client requests.
#[derive(FromForm)]
pub struct PageQuery {
    /// The page begins after this id.
    #[field(default = 0)]
    after: i32,
    /// The maximum number of records on the page.
    #[field(default = 100, validate = range(1..=1000))]
    limit: u16,
}

/// Describes the first invalid parameter of a query.
impl From<form::Errors<'_>> for Error {
    fn from(errors: form::Errors<'_>) -> Error {
        Error::BadRequest(if errors.iter().any(|error| error.is_for("after")) {
            "after must be a 32-bit integer"
        } else {
            "limit must be a whole number from 1 to 1000"
        })
    }
}
// ANCHOR_END: page-query

// ANCHOR: records
/// Returns the records with the smallest ids after `after`, at most `limit` of them; 400 if
/// `after` or `limit` is invalid, 503 if the database doesn't answer.
///
/// Keyset pagination: the page starts after a key, not at an offset. The index leads
/// straight to any key, and inserting or deleting earlier rows doesn't shift the page.
#[get("/records?<page..>")]
pub async fn records(
    _key: ApiKey,
    page: form::Result<'_, PageQuery>,
    database: &State<Database>,
) -> Result<Json<Page>, Error> {
    let PageQuery { after, limit } = page?;

    // Fetch one record more than requested: if it exists, there is a next page.
    let mut records: Vec<Record> = database
        .read(async |connection| {
            sqlx::query_as(
                "SELECT id, value, odd, divisible_by_3, visited FROM records \
                 WHERE id > $1 ORDER BY id LIMIT $2",
            )
            .bind(after)
            .bind(i64::from(limit) + 1)
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
// ANCHOR_END: records
