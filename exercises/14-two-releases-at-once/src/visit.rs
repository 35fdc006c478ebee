//! `POST /records/<id>/visit`: marks one record as visited.

use rocket::{State, post, serde::json::Json};

use crate::{
    api_key::ApiKey,
    database::Database,
    error::Error,
    record::Record,
    statements::{self, VisitedFrom},
};

// ANCHOR: visit
/// Marks a record as visited and responds with it; idempotent. Returns 400 if the id isn't
/// a 32-bit integer, 404 if no record has this id, or 503 if the database doesn't answer.
#[post("/records/<id>/visit")]
pub async fn visit(
    _key: ApiKey,
    id: Result<i32, &str>,
    database: &State<Database>,
    from: &State<VisitedFrom>,
) -> Result<Json<Record>, Error> {
    let id = id.map_err(|_| Error::BadRequest("id must be a 32-bit integer"))?;

    let record: Option<Record> = database
        .run(async |connection| {
            sqlx::query_as(statements::VISIT.of(**from))
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
