//! Serves until the service is told to stop, and then loses nothing.

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
    // Without `ROCKET_…` in the environment and without a `Rocket.toml`: only the contract's variables count.
    Figment::from(rocket::Config::default())
        .merge(("address", settings.address.ip()))
        .merge(("port", settings.address.port()))
        // After SIGTERM nothing new is accepted. Requests under way may take as long as a body may take, and the database.
        .merge(("shutdown.grace", 3))
        .merge(("shutdown.mercy", 1))
        .merge(("shutdown.ctrlc", false))
        .merge(("shutdown.signals", Vec::<String>::new()))
}

/// Serves until SIGTERM or Ctrl-C. After that nothing new is accepted, and what is under way is answered.
///
/// Rocket could handle signals by itself, in a task beside the one that runs it. In Rocket 0.5.2
/// the two can meet in such a way that it ends at once, and answers nobody who still waits.
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
