//! `POST /visits`: marks many records as visited, all of them or none.

use reqwest::Method;
use rocket::{
    Either, State,
    http::ContentType,
    post,
    serde::json::{self, Json},
};
use serde::{Deserialize, Serialize};

use crate::{
    api_key::ApiKey, database::Database, error::Error, front::Front, kotlin::Passed,
    object::Object, settings::MAX_IDS, write,
};

// ANCHOR: bodies
/// The body of the request.
#[derive(Deserialize)]
pub struct Visits {
    ids: Vec<i32>,
}

/// The body of the response: the number of distinct records in the request.
#[derive(Serialize)]
pub struct Visited {
    visited: usize,
}
// ANCHOR_END: bodies

// ANCHOR: visits
/// Marks the records with these ids as visited, and returns the number of records. Nothing
/// changes if a record doesn't exist (404) or the body is invalid (400, 413, 415, 422).
#[post("/visits", data = "<visits>")]
pub async fn visits(
    _key: ApiKey,
    content_type: Option<&ContentType>,
    visits: Result<Json<Object<Visits>>, json::Error<'_>>,
    front: &State<Front>,
    database: &State<Database>,
) -> Result<Either<Json<Visited>, Passed>, Error> {
    if !content_type.is_some_and(|content_type| content_type.is_json()) {
        return Err(Error::UnsupportedMediaType);
    }
    let Object(Visits { mut ids }) = visits?.into_inner();
    if ids.len() > MAX_IDS {
        return Err(Error::UnusableBody);
    }
    ids.sort_unstable();
    ids.dedup();

    let body = json::json!({ "ids": ids });
    let turn = front.begin();
    let missing = loop {
        let marked = database.run(async |connection| write::mark_all(connection, &ids).await);
        if let Some(missing) = marked.await? {
            break missing;
        }
        if let Some(passed) = turn
            .pass_on(database, Method::POST, "/visits", Some(&body))
            .await?
        {
            return Ok(Either::Right(passed));
        }
    };

    if missing.is_empty() {
        Ok(Either::Left(Json(Visited { visited: ids.len() })))
    } else {
        let missing: Vec<String> = missing.iter().map(i32::to_string).collect();
        Err(Error::NotFound(format!(
            "there are no records with the ids {}",
            missing.join(", ")
        )))
    }
}
// ANCHOR_END: visits
