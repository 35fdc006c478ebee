//! The platform's probes: is the service alive, and is it ready?

use axum::{Json, extract::State};
use serde::Serialize;

use crate::{database::Database, error::Error, migrations::Schema};

/// The body of both responses.
#[derive(Serialize)]
pub struct Status {
    status: &'static str,
}

/// `GET /health`: 200, always. It calls no other service, so no outage can make it fail.
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
