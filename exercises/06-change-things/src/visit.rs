//! `POST /records/<id>/visit`: marks one record as visited.

use rocket::{State, post, serde::json::Json};

use crate::{api_key::ApiKey, database::Database, error::Error, record::Record};

// ANCHOR: visit
/// Answers the record, visited now, and the same when it was so already. 400 when the id is no
/// 32-bit integer, 404 when no record has it, 503 when the database does not answer.
#[post("/records/<id>/visit")]
pub async fn visit(
    _key: ApiKey,
    id: Result<i32, &str>,
    _database: &State<Database>,
) -> Result<Json<Record>, Error> {
    todo!("mark the record with the id {id:?}, and answer it as `read` does")
}
// ANCHOR_END: visit
