//! The platform's probes: is the service alive, and is it ready?

use rocket::{State, get, serde::json::Json};
use serde_json::{Value, json};

use crate::{database::Database, error::Error};

/// `GET /health`: 200 while the service runs; the database isn't queried.
#[get("/health")]
pub fn health() -> Json<Value> {
    Json(json!({"status": "ok"}))
}

/// `GET /ready`: 200 if the schema is up to date and the database answers, else 503.
#[get("/ready")]
pub async fn ready(database: &State<Database>) -> Result<Json<Value>, Error> {
    database.ping().await?;
    Ok(Json(json!({"status": "ready"})))
}
