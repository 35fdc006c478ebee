//! The service: reads its settings, assembles its parts, and runs until it is told to stop.

mod api_key;
mod apply;
mod catchers;
mod causes;
mod commands;
mod compare;
mod copy;
mod database;
mod end;
mod error;
mod export;
mod front;
mod health;
mod health_check;
mod kotlin;
mod logging;
mod look;
mod looks;
mod migrations;
mod object;
mod outbox;
mod own;
mod ownership;
mod pool;
mod problem;
mod proof;
mod rate_limit;
mod read;
mod ready;
mod record;
mod records;
mod request_id;
mod request_span;
mod rocket_log;
mod settings;
mod sharing;
mod start;
#[cfg(test)]
mod tests;
mod visit;
mod visits;
mod write;

use std::{env, process::ExitCode};

use rocket::{Build, Rocket, catchers, routes};

use crate::{
    api_key::ApiKeys, database::Database, export::Exports, front::Front, migrations::Schema,
    request_id::RequestLog, request_span::in_spans, settings::Settings,
};

// ANCHOR: main
#[rocket::main]
async fn main() -> ExitCode {
    let settings = match Settings::from_environment() {
        Ok(settings) => settings,
        Err(error) => return start::refuse(&error),
    };
    let arguments: Vec<String> = env::args().skip(1).collect();
    if arguments == ["health"] {
        return health_check::run(&settings);
    }
    logging::start(settings.log_level);
    if !arguments.is_empty() {
        return commands::run(&arguments, &settings).await;
    }
    start::launch(service(&settings)).await
}

/// Assembles the service, but doesn't start it: nothing listens yet.
fn service(settings: &Settings) -> Rocket<Build> {
    let schema = Schema::default();
    let (inbox, looking) = looks::looks(settings);
    rocket::custom(settings.rocket())
        .attach(RequestLog)
        .attach(schema.migrate_on_liftoff(settings))
        .attach(sharing::on_liftoff(settings))
        .attach(looking)
        .manage(schema)
        .manage(Database::new(&settings.database))
        .manage(inbox)
        .manage(Front::new(settings))
        .manage(Exports::new(settings))
        .manage(ApiKeys::new(settings.api_keys.clone()))
        .mount(
            "/",
            in_spans(routes![
                health::health,
                ready::ready,
                read::read,
                look::look,
                records::records,
                export::export,
                visit::visit,
                visit::take_back,
                visits::visits,
            ]),
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
