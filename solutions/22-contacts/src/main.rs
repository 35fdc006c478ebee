//! The service: reads its settings, assembles its parts, and runs until it is told to stop.

mod computing;
mod database;
mod dav;
mod error;
mod http;
mod markup;
mod server;
mod service;
mod settings;
#[cfg(test)]
mod tests;
mod users;
mod vcard;

use std::{env, process::ExitCode, sync::Arc};

use axum::{Router, middleware, routing::get};

use crate::{
    dav::well_known,
    error::Error,
    server::{health, health_check, logging, ready, request_id, start, tasks},
    service::Service,
    settings::Settings,
};

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
    service.schema.migrate_in_the_background(&settings.database);
    start::serve(routes(service), &settings).await
}

// ANCHOR: router
/// The routes. The health checks and the redirect are ordinary routes. All other paths are WebDAV, whose methods axum's
/// router doesn't support, so the module `dav` matches path and method itself.
fn routes(service: Arc<Service>) -> Router {
    let routes = Router::new()
        .route("/health", get(health::health))
        .route("/ready", get(ready::ready))
        .method_not_allowed_fallback(async || Error::MethodNotAllowed("GET, HEAD"))
        .merge(well_known::routes())
        .fallback(dav::serve)
        .layer(middleware::from_fn(tasks::answer_in_a_task))
        .with_state(service);
    request_id::around(routes)
}
// ANCHOR_END: router
