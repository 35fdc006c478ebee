//! `GET /health`: the liveness check. It calls no other service, so no outage can make it fail.

use rocket::{get, serde::json::Json};
use serde::Serialize;

// ANCHOR: health
/// The body of the response.
#[derive(Serialize)]
pub struct Health {
    status: &'static str,
}

/// Always answers 200.
#[get("/health")]
pub fn health() -> Json<Health> {
    Json(Health { status: "ok" })
}
// ANCHOR_END: health
