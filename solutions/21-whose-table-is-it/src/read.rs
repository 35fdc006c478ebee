//! `GET /read/<id>`: reads one record by its id.

use reqwest::Method;
use rocket::{Either, State, get, serde::json::Json};
use sqlx::PgConnection;

use crate::{
    api_key::ApiKey, database::Database, error::Error, front::Front, kotlin::Passed, ownership,
    record::Record,
};

// ANCHOR: read
/// Returns the record, fetched from the other service while that service owns visits.
/// Answers 400 if the id isn't a 32-bit integer, 404 if no record has it, and 503 if the
/// database doesn't answer. The `ApiKey` guard refuses requests without a valid key.
#[get("/read/<id>")]
pub async fn read(
    _key: ApiKey,
    id: Result<i32, &str>,
    front: &State<Front>,
    database: &State<Database>,
) -> Result<Either<Json<Record>, Passed>, Error> {
    let id = id.map_err(|_| Error::BadRequest("id must be a 32-bit integer"))?;

    if let Some(kotlin) = &front.kotlin
        && database.read(ownership::kotlin_answers).await?
    {
        let path = format!("/read/{id}");
        return Ok(Either::Right(kotlin.ask(Method::GET, &path, None).await?));
    }
    match database
        .read(async |connection| find(connection, id).await)
        .await?
    {
        Some(record) => Ok(Either::Left(Json(record))),
        None => Err(Error::NotFound(format!("there is no record with id {id}"))),
    }
}
// ANCHOR_END: read

/// The record with this id, read from this database.
///
/// # Errors
/// The database does not answer.
pub async fn find(connection: &mut PgConnection, id: i32) -> sqlx::Result<Option<Record>> {
    sqlx::query_as("SELECT id, value, odd, divisible_by_3, visited FROM records WHERE id = $1")
        .bind(id)
        .fetch_optional(connection)
        .await
}
