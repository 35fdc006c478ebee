//! `GET /health`: the liveness check. It calls no other service, so no outage can make it fail.

use axum::Json;
use serde::Serialize;

/// The body of the response.
#[derive(Serialize)]
pub struct Health {
    status: &'static str,
}

/// Always answers 200.
pub async fn health() -> Json<Health> {
    Json(Health { status: "ok" })
}
