//! `POST /records/<id>/visit` marks a record as visited, and `DELETE` removes the mark.

use reqwest::Method;
use rocket::{Either, State, delete, post, serde::json::Json};

use crate::{
    api_key::ApiKey, database::Database, error::Error, front::Front, kotlin::Passed,
    record::Record, write,
};

// ANCHOR: visit
/// Marks a record as visited and responds with it; idempotent. Returns 400 if the id isn't
/// a 32-bit integer, 404 if no record has this id, or 503 if the database doesn't answer.
#[post("/records/<id>/visit")]
pub async fn visit(
    _key: ApiKey,
    id: Result<i32, &str>,
    front: &State<Front>,
    database: &State<Database>,
) -> Result<Either<Json<Record>, Passed>, Error> {
    mark(id, true, front, database).await
}

/// Removes a visit, for a hiker who scanned the wrong tag.
#[delete("/records/<id>/visit")]
pub async fn take_back(
    _key: ApiKey,
    id: Result<i32, &str>,
    front: &State<Front>,
    database: &State<Database>,
) -> Result<Either<Json<Record>, Passed>, Error> {
    mark(id, false, front, database).await
}

async fn mark(
    id: Result<i32, &str>,
    visited: bool,
    front: &Front,
    database: &Database,
) -> Result<Either<Json<Record>, Passed>, Error> {
    let id = id.map_err(|_| Error::BadRequest("id must be a 32-bit integer"))?;
    let method = if visited {
        Method::POST
    } else {
        Method::DELETE
    };

    let path = format!("/records/{id}/visit");

    let turn = front.begin();
    loop {
        let marked = database.run(async |connection| write::mark(connection, id, visited).await);
        if let Some(record) = marked.await? {
            let nowhere = || Error::NotFound(format!("there is no record with id {id}"));
            return Ok(Either::Left(Json(record.ok_or_else(nowhere)?)));
        }
        if let Some(passed) = turn.pass_on(database, method.clone(), &path, None).await? {
            return Ok(Either::Right(passed));
        }
    }
}
// ANCHOR_END: visit
