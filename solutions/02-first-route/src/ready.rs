//! `GET /ready`: the readiness check. The service is ready if the database answers.

use std::fmt::Display;

use rocket::{State, get, http::Status, serde::json::Json, tokio::time::timeout, warn};
use serde::Serialize;
use sqlx::{Connection, PgConnection, postgres::PgConnectOptions};

use crate::{problem::Problem, settings::Settings};

// ANCHOR: ready
/// The body of the response.
#[derive(Serialize)]
pub struct Ready {
    status: &'static str,
}

/// Answers 200 if the database responds in time, else 503.
#[get("/ready")]
pub async fn ready(settings: &State<Settings>) -> Result<Json<Ready>, Problem> {
    match timeout(settings.database.timeout, ask(&settings.database.url)).await {
        Ok(Ok(())) => Ok(Json(Ready { status: "ready" })),
        Ok(Err(error)) => Err(not_ready(&error)),
        Err(too_late) => Err(not_ready(&too_late)),
    }
}

/// Opens a connection, sends a trivial query, and closes the connection.
async fn ask(database: &PgConnectOptions) -> Result<(), sqlx::Error> {
    let mut connection = PgConnection::connect_with(database).await?;
    sqlx::query("SELECT 1").execute(&mut connection).await?;
    connection.close().await
}

/// Logs why the service isn't ready. The reason isn't sent to the client.
fn not_ready(reason: &impl Display) -> Problem {
    warn!("not ready: {reason}");
    Problem::new(Status::ServiceUnavailable, "the database does not answer")
}
// ANCHOR_END: ready
