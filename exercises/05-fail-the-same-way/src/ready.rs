//! `GET /ready`: the readiness check. The service is ready if the database answers.

use rocket::{State, get, serde::json::Json, warn};
use serde::Serialize;

use crate::{causes::with_causes, database::Database, error::Error};

// ANCHOR: ready
/// The body of the response.
#[derive(Serialize)]
pub struct Ready {
    status: &'static str,
}

/// Answers 200 if the database responds in time, else 503. The reason for a 503 is logged;
/// the client learns only that the database doesn't answer.
#[get("/ready")]
pub async fn ready(database: &State<Database>) -> Result<Json<Ready>, Error> {
    database
        .read(async |connection| sqlx::query("SELECT 1").execute(connection).await)
        .await
        .inspect_err(|error| warn!("not ready: {}", with_causes(error)))?;
    Ok(Json(Ready { status: "ready" }))
}
// ANCHOR_END: ready
