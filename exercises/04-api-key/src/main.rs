//! The service: reads its settings, assembles its parts, and runs until it is told to stop.

#[expect(dead_code, reason = "delete this line once `read` asks for a key")]
mod api_key;
mod health;
mod logging;
mod problem;
mod read;
mod ready;
mod record;
mod settings;
mod start;
#[cfg(test)]
mod tests;

use std::process::ExitCode;

use rocket::{Build, Rocket, catchers, routes};
use sqlx::{PgPool, postgres::PgPoolOptions};

use crate::{
    api_key::ApiKeys,
    settings::{DatabaseSettings, Settings},
};

// ANCHOR: main
#[rocket::main]
async fn main() -> ExitCode {
    logging::start();
    let settings = match Settings::from_environment() {
        Ok(settings) => settings,
        Err(error) => return start::refuse(&error),
    };
    start::launch(service(&settings)).await
}

/// Assembles the service, but doesn't start it: nothing listens yet.
fn service(settings: &Settings) -> Rocket<Build> {
    rocket::custom(settings.rocket())
        .manage(pool(&settings.database))
        .manage(ApiKeys::new(settings.api_keys.clone()))
        .mount("/", routes![health::health, ready::ready, read::read])
        .register("/", catchers![problem::nothing_here, problem::unexpected])
}
// ANCHOR_END: main

// ANCHOR: pool
/// The pool that all requests share. It opens connections on demand, so the service can
/// start while the database is down.
///
/// The pool pings a connection before lending it, and again when it is returned. Each ping
/// costs a round trip. `test_before_acquire` controls the first ping; see exercise 6.
fn pool(settings: &DatabaseSettings) -> PgPool {
    PgPoolOptions::new()
        .max_connections(settings.pool_size.get().into())
        .acquire_timeout(settings.timeout)
        .connect_lazy_with(settings.url.clone())
}
// ANCHOR_END: pool
