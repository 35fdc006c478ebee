//! `GET /health`: the process is alive. It calls no other service, so none can make it fail.

use rocket::{get, serde::json::Json};
use serde::Serialize;

// ANCHOR: health
/// The body of the answer.
#[derive(Serialize)]
pub struct Health {
    status: &'static str,
}

/// Answers 200, always.
#[get("/health")]
pub fn health() -> Json<Health> {
    Json(Health { status: "ok" })
}
// ANCHOR_END: health
