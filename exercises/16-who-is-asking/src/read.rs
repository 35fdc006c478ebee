//! `GET /read/<id>`: reads one record by its id.

use rocket::{State, get, serde::json::Json};

use crate::{
    caller::{Allowed, ReadRecords},
    database::Database,
    error::Error,
    record::Record,
};

// ANCHOR: read
/// Responds with the record, or with 400 if the id isn't a 32-bit integer, 404 if no record has
/// this id, or 503 if the database doesn't answer. Requires a valid key.
#[get("/read/<id>")]
pub async fn read(
    _caller: Allowed<ReadRecords>,
    id: Result<i32, &str>,
    database: &State<Database>,
) -> Result<Json<Record>, Error> {
    let id = id.map_err(|_| Error::BadRequest("id must be a 32-bit integer"))?;

    let record: Option<Record> = database
        .read(async |connection| {
            sqlx::query_as(
                "SELECT id, value, odd, divisible_by_3, visited FROM records WHERE id = $1",
            )
            .bind(id)
            .fetch_optional(connection)
            .await
        })
        .await?;

    match record {
        Some(record) => Ok(Json(record)),
        None => Err(Error::NotFound(format!("there is no record with id {id}"))),
    }
}
// ANCHOR_END: read
