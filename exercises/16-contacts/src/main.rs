//! The service: reads its settings, puts its parts together, and answers until it is told to stop.

mod body;
mod causes;
mod computing;
mod conditions;
mod contacts;
mod content_type;
mod database;
mod dav;
mod dav_error;
mod delete;
mod error;
mod filter;
mod get;
mod health;
mod health_check;
mod listing;
mod logging;
mod markup;
mod migrations;
mod multiget;
mod multistatus;
mod paths;
mod pool;
mod problem;
mod properties;
mod propfind;
mod proppatch;
mod put;
mod query;
mod rate_limit;
mod ready;
mod report;
mod request_id;
mod service;
mod settings;
mod since;
mod start;
mod sync;
mod sync_report;
mod tasks;
#[cfg(test)]
mod tests;
mod users;
mod vcard;
mod well_known;
mod xml;

use std::{env, process::ExitCode, sync::Arc};

use axum::{Router, middleware, routing::get};

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
    service.schema.migrate_in_the_background(&settings.database);
    start::serve(routes(service), &settings).await
}

// ANCHOR: router
/// The routes. A few of them are like those of other services. All else is WebDAV, whose methods axum's own table does not know:
/// there `dav.rs` looks at path and method itself.
fn routes(service: Arc<Service>) -> Router {
    Router::new()
        .route("/health", get(health::health))
        .route("/ready", get(ready::ready))
        .method_not_allowed_fallback(async || Error::MethodNotAllowed("GET, HEAD"))
        .merge(well_known::routes())
        .fallback(dav::serve)
        .layer(middleware::from_fn(tasks::answer_in_a_task))
        .layer(middleware::from_fn(request_id::log_request))
        .with_state(service)
}
// ANCHOR_END: router
