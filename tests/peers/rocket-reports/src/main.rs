//! *Trail reports* on Rocket: reads settings, wires its parts, and serves until stopped.

mod api_key;
mod body;
mod catchers;
mod conditions;
mod error;
mod idempotency;
mod logging;
mod page;
mod probes;
mod problem;
mod reports;
mod request_id;
mod serving;

// The same file as in the reference solutions, starting with exercise 8.
#[path = "../../../../solutions/08-ship-it/src/request_span.rs"]
mod request_span;

// These modules are independent of the framework: they are the files of the axum reference.
#[path = "../../../../solutions/24-an-empty-folder/src/database.rs"]
mod database;
#[path = "../../../../solutions/24-an-empty-folder/src/forgetting.rs"]
mod forgetting;
#[path = "../../../../solutions/24-an-empty-folder/src/object.rs"]
mod object;
#[path = "../../../../solutions/24-an-empty-folder/src/outage.rs"]
mod outage;
#[path = "../../../../solutions/24-an-empty-folder/src/pool.rs"]
mod pool;
#[path = "../../../../solutions/24-an-empty-folder/src/report.rs"]
mod report;
#[path = "../../../../solutions/24-an-empty-folder/src/schema.rs"]
mod schema;
#[path = "../../../../solutions/24-an-empty-folder/src/settings.rs"]
mod settings;

use std::process::ExitCode;

use rocket::{Build, Rocket, catchers, routes};
use tokio::runtime::Runtime;

use crate::{
    database::Database, request_id::RequestLog, request_span::in_spans, settings::Settings,
};

// ANCHOR: main
fn main() -> ExitCode {
    let settings = match Settings::from_environment() {
        Ok(settings) => settings,
        Err(complaint) => return serving::refuse(&complaint),
    };
    logging::start(settings.log_level);
    let runtime = match Runtime::new() {
        Ok(runtime) => runtime,
        Err(error) => return serving::refuse(&format!("there are no threads to run on: {error}")),
    };
    let ended = runtime.block_on(async {
        let database = Database::new(&settings);
        tokio::spawn(forgetting::forget_old_keys(database.clone()));
        serving::serve(service(&settings, database)).await
    });
    // Doesn't wait for a DNS lookup on a blocking thread, as `#[rocket::main]` would.
    runtime.shutdown_background();
    ended
}

/// Assembles the service, but doesn't start it: nothing listens yet.
fn service(settings: &Settings, database: Database) -> Rocket<Build> {
    rocket::custom(serving::config(settings))
        .attach(RequestLog)
        .manage(settings.api_keys.clone())
        .manage(database)
        .mount(
            "/",
            in_spans(routes![
                probes::health,
                probes::ready,
                page::open_reports,
                reports::report,
                reports::read,
                reports::change,
            ]),
        )
        .register("/", catchers![catchers::unauthorized, catchers::others])
}
// ANCHOR_END: main

#[cfg(test)]
mod tests {
    use rocket::{
        http::{Header, Status},
        local::asynchronous::Client,
    };

    use super::*;

    /// A test client for the whole service, without a socket or a database.
    async fn client() -> Client {
        let environment = |name: &str| match name {
            "DATABASE_URL" => Some("postgres://nobody@127.0.0.1:1/nothing".to_owned()),
            "API_KEYS" => Some("valid_key".to_owned()),
            "DATABASE_TIMEOUT_MS" => Some("250".to_owned()),
            _ => None,
        };
        let settings =
            Settings::read(environment).unwrap_or_else(|complaint| panic!("{complaint}"));
        let service = Client::untracked(service(&settings, Database::new(&settings))).await;
        service.unwrap_or_else(|error| panic!("{error}"))
    }

    #[rocket::async_test]
    async fn what_needs_no_database_is_answered_without_one() {
        let client = client().await;
        for (path, status) in [("/health", 200), ("/ready", 503), ("/nothing", 404)] {
            assert_eq!(
                client.get(path).dispatch().await.status().code,
                status,
                "{path}"
            );
        }
    }

    #[rocket::async_test]
    async fn the_key_comes_first() {
        let client = client().await;
        let request = || client.get("/reports?limit=0");
        assert_eq!(request().dispatch().await.status(), Status::Unauthorized);
        let with_key = request().header(Header::new("X-API-Key", "valid_key"));
        assert_eq!(with_key.dispatch().await.status(), Status::BadRequest);
    }
}
