//! `GET /ready`: the service can do its work, because the database answers.

use rocket::{State, get, serde::json::Json};
use serde::Serialize;

use crate::{problem::Problem, settings::Settings};

// ANCHOR: ready
/// The body of the answer.
#[derive(Serialize)]
pub struct Ready {
    status: &'static str,
}

/// Answers 200 when the database answers in time, else 503.
#[get("/ready")]
pub async fn ready(settings: &State<Settings>) -> Result<Json<Ready>, Problem> {
    let limit = settings.database.timeout;
    todo!("say within {limit:?} whether the database answers")
}
// ANCHOR_END: ready
