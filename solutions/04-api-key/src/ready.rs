//! `GET /ready`: the readiness check. The service is ready if the database answers.

use std::fmt::Display;

use rocket::{State, get, http::Status, serde::json::Json, warn};
use serde::Serialize;
use sqlx::PgPool;

use crate::problem::Problem;

// ANCHOR: ready
/// The body of the response.
#[derive(Serialize)]
pub struct Ready {
    status: &'static str,
}

/// Answers 200 if the database responds in time, else 503.
#[get("/ready")]
pub async fn ready(pool: &State<PgPool>) -> Result<Json<Ready>, Problem> {
    match sqlx::query("SELECT 1").execute(pool.inner()).await {
        Ok(_) => Ok(Json(Ready { status: "ready" })),
        Err(error) => Err(not_ready(&error)),
    }
}

/// Logs why the service isn't ready. The reason isn't sent to the client.
fn not_ready(reason: &impl Display) -> Problem {
    warn!("not ready: {reason}");
    Problem::new(Status::ServiceUnavailable, "the database does not answer")
}
// ANCHOR_END: ready
