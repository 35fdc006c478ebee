//! The service: reads its settings, assembles its parts, and runs until it is told to stop.

mod health;
mod problem;
mod ready;
mod settings;
mod start;
#[cfg(test)]
mod tests;

use std::process::ExitCode;

use rocket::{Build, Rocket, catchers, routes};

use crate::settings::Settings;

// ANCHOR: main
#[rocket::main]
async fn main() -> ExitCode {
    let settings = match Settings::from_environment() {
        Ok(settings) => settings,
        Err(error) => return start::refuse(&error),
    };
    start::launch(service(settings)).await
}

/// Assembles the service, but doesn't start it: nothing listens yet.
fn service(settings: Settings) -> Rocket<Build> {
    rocket::custom(settings.rocket())
        .manage(settings)
        .mount("/", routes![health::health, ready::ready])
        .register("/", catchers![problem::nothing_here, problem::unexpected])
}
// ANCHOR_END: main
