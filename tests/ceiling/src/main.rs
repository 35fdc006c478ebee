//! The upper bound for the measurements: as little between HTTP and PostgreSQL as Rust allows.
//!
//! axum on hyper and tokio-postgres behind deadpool: one prepared statement per connection, one
//! round trip per read. It answers `/health` and `/read/<id>` byte for byte as in the contract,
//! but lacks the log, query timeouts and graceful shutdown of a production service. The page
//! "How far is it to the ceiling" is about the cost of these features.

mod api_key;
mod problem;
mod read;
mod settings;

use std::sync::Arc;

use axum::{
    Json, Router,
    routing::get,
    serve::{self, ListenerExt},
};
use deadpool_postgres::Pool;
use serde::Serialize;
use tokio::net::TcpListener;

use crate::{api_key::ApiKeys, settings::Settings};

/// The state that the handlers share.
#[derive(Clone)]
struct Shared {
    pool: Pool,
    keys: Arc<ApiKeys>,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let settings = Settings::from_environment()?;
    let shared = Shared {
        pool: settings.pool()?,
        keys: Arc::new(ApiKeys::new(settings.api_keys)),
    };
    let routes = Router::new()
        .route("/health", get(health))
        .route("/read/{id}", get(read::read))
        .with_state(shared);
    let listener = TcpListener::bind(settings.address).await?;
    // A small response must not wait until the previous one is acknowledged (Nagle's algorithm).
    let listener = listener.tap_io(|connection| {
        // Fails only if the connection is already gone, and then the option doesn't matter.
        let _ = connection.set_nodelay(true);
    });
    serve::serve(listener, routes).await?;
    Ok(())
}

#[derive(Serialize)]
struct Health {
    status: &'static str,
}

async fn health() -> Json<Health> {
    Json(Health { status: "ok" })
}
