//! `GET /health`: the process is alive. It calls no other service, so none can make it fail.

use axum::Json;
use serde::Serialize;

/// The body of the answer.
#[derive(Serialize)]
pub struct Health {
    status: &'static str,
}

/// Answers 200, always.
pub async fn health() -> Json<Health> {
    Json(Health { status: "ok" })
}
