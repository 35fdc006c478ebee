//! `GET /records?after=&limit=`: the records, page by page.

use rocket::{FromForm, State, get, serde::json::Json};
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
    after: Option<i32>,
    /// The maximum number of records on the page.
    limit: Option<i64>,
}
// ANCHOR_END: page-query

// ANCHOR: records
/// Returns the records with the smallest ids after `after`, at most `limit` of them.
#[get("/records?<page..>")]
pub async fn records(
    _key: ApiKey,
    page: PageQuery,
    database: &State<Database>,
) -> Result<Json<Page>, Error> {
    let PageQuery { after, limit } = page;

    let records: Vec<Record> = database
        .read(async |connection| {
            sqlx::query_as(
                "SELECT id, value, odd, divisible_by_3, visited FROM records \
                 ORDER BY id OFFSET $1 LIMIT $2",
            )
            .bind(after.unwrap_or(0))
            .bind(limit.unwrap_or(100))
            .fetch_all(connection)
            .await
        })
        .await?;
    let next = records.last().map(|record| record.id);
    Ok(Json(Page { records, next }))
}
// ANCHOR_END: records
