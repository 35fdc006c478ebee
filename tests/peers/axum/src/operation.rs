//! What the platform asks: whether the process is alive, and whether it can do its work.

use axum::{Json, extract::State};
use serde::Serialize;

use crate::{database::Database, error::Error, migrations::Schema};

/// The body of both answers.
#[derive(Serialize)]
pub struct Status {
    status: &'static str,
}

/// `GET /health`: 200, always. It asks no other service, so an outage elsewhere doesn't make it lie.
pub async fn health() -> Json<Status> {
    Json(Status { status: "ok" })
}

/// `GET /ready`: 200 when the schema is up to date and the database answers in time, else 503.
pub async fn ready(
    State(schema): State<Schema>,
    State(database): State<Database>,
) -> Result<Json<Status>, Error> {
    if !schema.is_up_to_date() {
        return Err(Error::SchemaBehind);
    }
    database.ping().await?;
    Ok(Json(Status { status: "ready" }))
}
