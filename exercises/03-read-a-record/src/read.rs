//! `GET /read/<id>`: reads one record by its id.

use rocket::{get, serde::json::Json};

use crate::{problem::Problem, record::Record};

// ANCHOR: read
/// Responds with the record, or with 400 if the id isn't a 32-bit integer, 404 if no record has
/// this id, or 503 if the database does not answer.
#[get("/read/<id>")]
pub async fn read(id: Result<i32, &str>) -> Result<Json<Record>, Problem> {
    todo!("answer the record {id:?} from the pool, which has yet to become a parameter")
}
// ANCHOR_END: read
