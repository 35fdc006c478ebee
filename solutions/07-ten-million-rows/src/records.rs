//! `GET /records?after=&limit=`: the records, page by page.

use rocket::{State, get, serde::json::Json};
use serde::Serialize;

use crate::{api_key::ApiKey, database::Database, error::Error, record::Record};

// ANCHOR: page
/// One page. `next` is the `after` of the page that follows, if there is one.
#[derive(Serialize)]
pub struct Page {
    records: Vec<Record>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<i32>,
}
// ANCHOR_END: page

// ANCHOR: records
/// Answers the records with the smallest ids after `after`, at most `limit` of them; 400 when one of
/// the two cannot be used, 503 when the database does not answer.
///
/// The page starts at a key, not at a count of rows to skip: the index leads straight to it, however
/// far back it is, and rows that come or go before it do not shift it.
#[get("/records?<after>&<limit>")]
pub async fn records(
    _key: ApiKey,
    after: Option<&str>,
    limit: Option<&str>,
    database: &State<Database>,
) -> Result<Json<Page>, Error> {
    let after: i32 = after
        .unwrap_or("0")
        .parse()
        .map_err(|_| Error::BadRequest("after must be a 32-bit integer"))?;
    let limit: usize = match limit.unwrap_or("100").parse() {
        Ok(limit @ 1..=1000) => limit,
        _ => {
            return Err(Error::BadRequest(
                "limit must be a whole number from 1 to 1000",
            ));
        }
    };

    // One more than asked for, to know whether there is a next page.
    let mut records: Vec<Record> = database
        .run(async |connection| {
            sqlx::query_as(
                "SELECT id, value, odd, divisible_by_3, visited FROM records \
                 WHERE id > $1 ORDER BY id LIMIT $2",
            )
            .bind(after)
            .bind(limit as i64 + 1)
            .fetch_all(connection)
            .await
        })
        .await?;

    let more = records.len() > limit;
    records.truncate(limit);
    let next = records.last().filter(|_| more).map(|record| record.id);
    Ok(Json(Page { records, next }))
}
// ANCHOR_END: records
