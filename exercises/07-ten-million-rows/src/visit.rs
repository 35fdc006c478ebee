//! `POST /records/<id>/visit`: marks one record as visited.

use rocket::{State, post, serde::json::Json};

use crate::{api_key::ApiKey, database::Database, error::Error, record::Record};

// ANCHOR: visit
/// Marks a record as visited and responds with it; idempotent. Returns 400 if the id isn't
/// a 32-bit integer, 404 if no record has this id, or 503 if the database doesn't answer.
#[post("/records/<id>/visit")]
pub async fn visit(
    _key: ApiKey,
    id: Result<i32, &str>,
    database: &State<Database>,
) -> Result<Json<Record>, Error> {
    let id = id.map_err(|_| Error::BadRequest("id must be a 32-bit integer"))?;

    let record: Option<Record> = database
        .run(async |connection| {
            sqlx::query_as(
                "UPDATE records SET visited = true WHERE id = $1 \
                 RETURNING id, value, odd, divisible_by_3, visited",
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
// ANCHOR_END: visit
