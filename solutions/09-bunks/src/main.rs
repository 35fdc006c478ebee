//! Bunks: bookings in huts. The rules, in `huts.rs` and `booking.rs`, don't depend on HTTP.

mod booking;
mod huts;
mod night;
mod refusal;
mod routes;
mod settings;

use std::process::ExitCode;
use std::sync::Mutex;

use rocket::{Build, Rocket};

use crate::huts::Huts;
use crate::settings::Settings;

#[rocket::main]
async fn main() -> ExitCode {
    let settings = match Settings::from_environment() {
        Ok(settings) => settings,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    match service(&settings).launch().await {
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("cannot listen on {settings}: {error}");
            ExitCode::FAILURE
        }
    }
}

// ANCHOR: service
/// Builds the service. Its state is plain data behind one lock.
fn service(settings: &Settings) -> Rocket<Build> {
    rocket::custom(settings.rocket())
        .manage(Mutex::new(Huts::open()))
        .mount("/", routes::all())
}
// ANCHOR_END: service
