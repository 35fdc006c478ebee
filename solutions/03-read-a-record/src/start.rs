//! Starts the service, and says in one sentence on stderr what prevented it.

use std::{fmt::Display, net::SocketAddr, process::ExitCode};

use rocket::{Build, Rocket, error::ErrorKind};

/// Starts the service and waits until it is told to stop, by SIGTERM or Ctrl-C.
pub async fn launch(service: Rocket<Build>) -> ExitCode {
    let service = match service.ignite().await {
        Ok(service) => service,
        Err(error) => return refuse(&error),
    };
    let address = SocketAddr::new(service.config().address, service.config().port);
    match service.launch().await {
        Ok(_stopped) => ExitCode::SUCCESS,
        Err(error) => match error.kind() {
            ErrorKind::Bind(reason) => refuse(&format!(
                "cannot listen on {address}: {reason}; choose another ADDRESS or PORT"
            )),
            other => refuse(other),
        },
    }
}

/// Says why the service does not run, and gives the exit code for it.
pub fn refuse(reason: &impl Display) -> ExitCode {
    eprintln!("{reason}");
    ExitCode::FAILURE
}
