//! The service: reads its settings, puts its parts together, and answers until it is told to stop.

mod body;
mod causes;
mod conditions;
mod contacts;
mod database;
mod dav;
mod dav_error;
mod delete;
mod error;
mod filter;
mod get;
mod health;
mod health_check;
mod logging;
mod markup;
mod migrations;
mod multiget;
mod multistatus;
mod panics;
mod paths;
mod pool;
mod problem;
mod properties;
mod propfind;
mod put;
mod query;
mod rate_limit;
mod ready;
mod report;
mod request_id;
mod service;
mod settings;
mod start;
mod sync;
mod sync_report;
#[cfg(test)]
mod tests;
mod users;
mod vcard;
mod xml;

use std::{env, process::ExitCode, sync::Arc};

use axum::{
    Router,
    http::{StatusCode, header::LOCATION},
    middleware,
    response::IntoResponse,
    routing::{any, get},
};

use crate::{error::Error, service::Service, settings::Settings};

#[tokio::main]
async fn main() -> ExitCode {
    let settings = match Settings::from_environment() {
        Ok(settings) => settings,
        Err(error) => return start::refuse(&error),
    };
    if env::args().nth(1).as_deref() == Some("health") {
        return health_check::run(&settings);
    }
    logging::start(settings.log_level);
    let service = Arc::new(Service::new(&settings));
    service.schema.migrate_in_the_background(&settings);
    start::serve(routes(service), &settings).await
}

// ANCHOR: router
/// The routes. Three of them are like those of other services. All else is WebDAV, whose methods axum's own table does not know:
/// there `dav.rs` looks at path and method itself.
fn routes(service: Arc<Service>) -> Router {
    Router::new()
        .route("/health", get(health::health))
        .route("/ready", get(ready::ready))
        .method_not_allowed_fallback(async || Error::MethodNotAllowed("GET, HEAD"))
        .route("/.well-known/carddav", any(moved_to_the_entry))
        .fallback(dav::serve)
        .layer(middleware::from_fn(panics::answer_panics))
        .layer(middleware::from_fn(request_id::log_request))
        .with_state(service)
}

/// The place where clients look first, by RFC 6764.
async fn moved_to_the_entry() -> impl IntoResponse {
    (StatusCode::MOVED_PERMANENTLY, [(LOCATION, "/")])
}
// ANCHOR_END: router
