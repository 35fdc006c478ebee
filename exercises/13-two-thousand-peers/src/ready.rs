//! `GET /ready`: the readiness check. The database must answer and have the current schema.

use rocket::{State, get, serde::json::Json};
use serde::Serialize;
use tracing::warn;

use crate::{causes::with_causes, database::Database, error::Error, migrations::Schema};

// ANCHOR: ready
/// The body of the response.
#[derive(Serialize)]
pub struct Ready {
    status: &'static str,
}

/// Answers 200 if the schema is up to date and the database responds in time, else 503. The
/// reason is logged; the client learns only which of these two conditions isn't met.
#[get("/ready")]
pub async fn ready(
    schema: &State<Schema>,
    database: &State<Database>,
) -> Result<Json<Ready>, Error> {
    if !schema.is_up_to_date() {
        return Err(Error::SchemaBehind);
    }
    database
        .ping()
        .await
        .inspect_err(|error| warn!("not ready: {}", with_causes(error)))?;
    Ok(Json(Ready { status: "ready" }))
}
// ANCHOR_END: ready
