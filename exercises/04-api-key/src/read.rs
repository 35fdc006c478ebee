//! `GET /read/<id>`: reads one record by its id.

use rocket::{State, get, http::Status, serde::json::Json};
use sqlx::PgPool;

use crate::{problem::Problem, record::Record};

// ANCHOR: read
/// Responds with the record, or with 400 if the id isn't a 32-bit integer, 404 if no record has
/// this id, or 503 if the database does not answer.
#[get("/read/<id>")]
pub async fn read(id: Result<i32, &str>, pool: &State<PgPool>) -> Result<Json<Record>, Problem> {
    let id = id.map_err(|_| Problem::new(Status::BadRequest, "id must be a 32-bit integer"))?;

    let record: Option<Record> =
        sqlx::query_as("SELECT id, value, odd, divisible_by_3, visited FROM records WHERE id = $1")
            .bind(id)
            .fetch_optional(pool.inner())
            .await?;

    match record {
        Some(record) => Ok(Json(record)),
        None => Err(Problem::new(
            Status::NotFound,
            format!("there is no record with id {id}"),
        )),
    }
}
// ANCHOR_END: read
