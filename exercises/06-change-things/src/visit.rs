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
    _database: &State<Database>,
) -> Result<Json<Record>, Error> {
    todo!("mark the record with the id {id:?}, and answer it as `read` does")
}
// ANCHOR_END: visit
