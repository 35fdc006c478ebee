//! `GET /ready`: the readiness check. The service is ready if the database answers.

use rocket::{State, get, serde::json::Json};
use serde::Serialize;

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
    let (host, limit) = (settings.database.url.get_host(), settings.database.timeout);
    todo!("say within {limit:?} whether the database at {host} answers")
}
// ANCHOR_END: ready
