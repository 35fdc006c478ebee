//! The server: serves until told to stop, and then shuts down gracefully.

use std::{future, process::ExitCode};

use rocket::{Build, Rocket, figment::Figment};
use tokio::{
    select,
    signal::{
        ctrl_c,
        unix::{SignalKind, signal},
    },
};

use crate::settings::Settings;

/// Rocket's configuration, built from these settings.
pub fn config(settings: &Settings) -> Figment {
    // Ignores `ROCKET_…` variables and `Rocket.toml`: only the contract's variables count.
    Figment::from(rocket::Config::default())
        .merge(("address", settings.address.ip()))
        .merge(("port", settings.address.port()))
        // After SIGTERM, requests in flight can still read their bodies and use the database.
        .merge(("shutdown.grace", 3))
        .merge(("shutdown.mercy", 1))
        .merge(("shutdown.ctrlc", false))
        .merge(("shutdown.signals", Vec::<String>::new()))
}

/// Serves until SIGTERM or Ctrl-C. Then stops accepting, and answers requests in flight.
///
/// Rocket could handle signals itself, in a separate task. In Rocket 0.5.2, a race with
/// that task can make the server end at once, without answering the requests in flight.
pub async fn serve(service: Rocket<Build>) -> ExitCode {
    let service = match service.ignite().await {
        Ok(service) => service,
        Err(error) => return refuse(&format!("the service cannot start: {error}")),
    };
    let (shutdown, address) = (service.shutdown(), service.config().address);
    let port = service.config().port;
    let mut running = std::pin::pin!(service.launch());
    let ended = select! {
        ended = &mut running => ended,
        () = told_to_stop() => {
            shutdown.notify();
            running.await
        }
    };
    match ended {
        Ok(_stopped) => ExitCode::SUCCESS,
        Err(error) => refuse(&format!(
            "cannot serve at {address}, port {port}: {error}; choose another ADDRESS or PORT"
        )),
    }
}

/// Waits for SIGTERM or Ctrl-C.
async fn told_to_stop() {
    let terminated = async {
        match signal(SignalKind::terminate()) {
            Ok(mut terminate) => terminate.recv().await,
            Err(_) => future::pending().await,
        }
    };
    select! {
        _ = terminated => {}
        _ = ctrl_c() => {}
    }
}

/// Prints why the service can't run, and returns the exit code for a failure.
pub fn refuse(reason: &str) -> ExitCode {
    eprintln!("{reason}");
    ExitCode::FAILURE
}
