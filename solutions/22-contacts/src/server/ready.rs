//! `GET /ready`: the readiness check. The database must answer and have the current schema.

use std::sync::Arc;

use axum::{Json, extract::State};
use serde::Serialize;
use tracing::warn;

use crate::{
    error::{Error, causes::with_causes},
    service::Service,
};

/// The body of the response.
#[derive(Serialize)]
pub struct Ready {
    status: &'static str,
}

/// Answers 200 when the schema is up to date and the database answers in time, else 503. The client learns only which of
/// the two checks failed. The reason is in the log.
pub async fn ready(State(service): State<Arc<Service>>) -> Result<Json<Ready>, Error> {
    if !service.schema.is_up_to_date() {
        return Err(Error::SchemaBehind);
    }
    service
        .database
        .ping()
        .await
        .inspect_err(|error| warn!("not ready: {}", with_causes(error)))?;
    Ok(Json(Ready { status: "ready" }))
}
