//! The service, which takes over one route of the Kotlin service: `/qrcode`.

mod catchers;
mod causes;
mod error;
mod health;
mod logging;
mod problem;
mod qr;
mod qrcode;
mod request_id;
mod request_span;
mod rocket_log;
mod settings;
mod start;
#[cfg(test)]
mod tests;
mod text;

use std::process::ExitCode;

use rocket::{Build, Rocket, catchers, routes};

use crate::{qrcode::Drawings, request_id::RequestLog, request_span::in_spans, settings::Settings};

// ANCHOR: main
#[rocket::main]
async fn main() -> ExitCode {
    let settings = match Settings::from_environment() {
        Ok(settings) => settings,
        Err(error) => return start::refuse(&error),
    };
    logging::start(settings.log_level);
    start::launch(service(&settings)).await
}

/// Assembles the service, but doesn't start it: nothing listens yet.
fn service(settings: &Settings) -> Rocket<Build> {
    rocket::custom(settings.rocket())
        .attach(RequestLog)
        .manage(Drawings::new())
        .mount("/", in_spans(routes![health::health, qrcode::qrcode]))
        .register(
            "/",
            catchers![
                catchers::malformed,
                catchers::nothing_here,
                catchers::unexpected,
            ],
        )
}
// ANCHOR_END: main
