//! The service: reads its settings, assembles its parts, and runs until it is told to stop.

mod api_key;
mod catchers;
mod causes;
mod database;
mod error;
mod export;
mod health;
mod logging;
mod migrations;
mod object;
mod problem;
mod read;
mod ready;
mod record;
mod records;
mod settings;
mod start;
#[cfg(test)]
mod tests;
mod visit;
mod visits;

use std::process::ExitCode;

use rocket::{Build, Rocket, catchers, routes};

use crate::{
    api_key::ApiKeys, database::Database, export::Exports, migrations::Schema, settings::Settings,
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
    let schema = Schema::default();
    rocket::custom(settings.rocket())
        .attach(schema.migrate_on_liftoff(&settings.database))
        .manage(schema)
        .manage(Database::new(&settings.database))
        .manage(Exports::new(settings))
        .manage(ApiKeys::new(settings.api_keys.clone()))
        .mount(
            "/",
            routes![
                health::health,
                ready::ready,
                read::read,
                records::records,
                export::export,
                visit::visit,
                visits::visits,
            ],
        )
        .register(
            "/",
            catchers![
                api_key::unauthorized,
                catchers::malformed,
                catchers::nothing_here,
                catchers::unexpected,
            ],
        )
}
// ANCHOR_END: main
