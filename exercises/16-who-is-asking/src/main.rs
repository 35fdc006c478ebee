//! The service: reads its settings, assembles its parts, and runs until it is told to stop.

mod api_key;
mod bearer;
mod caller;
mod catchers;
mod causes;
mod database;
mod error;
mod export;
mod health;
mod health_check;
mod issuer;
mod key_set;
mod keys;
mod logging;
mod migrations;
mod object;
mod pool;
mod problem;
mod rate_limit;
mod read;
mod ready;
mod record;
mod records;
mod refused;
mod request_id;
mod request_span;
mod rocket_log;
mod settings;
mod start;
#[cfg(test)]
mod tests;
mod token;
mod visit;
mod visits;

use std::{env, process::ExitCode, sync::Arc};

use rocket::{Build, Rocket, catchers, routes};

use crate::{
    api_key::ApiKeys,
    database::Database,
    export::Exports,
    keys::Keys,
    migrations::Schema,
    request_id::RequestLog,
    request_span::in_spans,
    settings::{Settings, TokenSettings},
    token::Tokens,
};

// ANCHOR: main
#[rocket::main]
async fn main() -> ExitCode {
    let settings = match Settings::from_environment() {
        Ok(settings) => settings,
        Err(error) => return start::refuse(&error),
    };
    if env::args().nth(1).as_deref() == Some("health") {
        return health_check::run(&settings);
    }
    logging::start(settings.log_level);
    start::launch(service(&settings)).await
}

/// Assembles the service, but doesn't start it: nothing listens yet.
fn service(settings: &Settings) -> Rocket<Build> {
    let schema = Schema::default();
    let service = rocket::custom(settings.rocket())
        .attach(RequestLog)
        .attach(schema.migrate_on_liftoff(&settings.database))
        .manage(schema)
        .manage(Database::new(&settings.database))
        .manage(Exports::new(settings))
        .manage(ApiKeys::new(settings.api_keys.clone()))
        .mount(
            "/",
            in_spans(routes![
                health::health,
                ready::ready,
                read::read,
                records::records,
                export::export,
                visit::visit,
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
                refused::forbidden,
                refused::no_keys,
            ],
        );
    match &settings.tokens {
        Some(tokens) => with_tokens(service, tokens),
        None => service,
    }
}

/// Makes the service accept access tokens from an issuer, in addition to API keys.
fn with_tokens(service: Rocket<Build>, settings: &TokenSettings) -> Rocket<Build> {
    let keys = Arc::new(Keys::new(settings));
    service
        .attach(keys::renewed_on_liftoff(&keys))
        .manage(Tokens::new(settings, keys))
}
// ANCHOR_END: main
