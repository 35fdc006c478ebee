//! The yardstick of the measurements: the reads of the contract with as little between HTTP and PostgreSQL as Rust offers.
//!
//! axum on hyper, tokio-postgres behind deadpool, one prepared statement a connection, one round trip a read. It answers
//! `/health` and `/read/<id>` as the contract says, byte for byte, and leaves out what a service in earnest has besides: a
//! log, time limits on queries, a graceful end. What it leaves out is the distance that the page "How far is it to the
//! ceiling" is about.

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
    // A small answer must not wait for the acknowledgement of the one before it.
    let listener = listener.tap_io(|connection| {
        // A connection that has gone meanwhile needs no option.
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
