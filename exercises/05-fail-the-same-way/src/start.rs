//! Starts the service. If it can't start, one sentence on stderr says why.

use std::{fmt::Display, net::SocketAddr, process::ExitCode};

use rocket::{Build, Rocket, error::ErrorKind};

/// Starts the service, and runs it until SIGTERM or Ctrl-C.
pub async fn launch(service: Rocket<Build>) -> ExitCode {
    let service = match service.ignite().await {
        Ok(service) => service,
        Err(error) => return refuse(&in_words(error.kind())),
    };
    let address = SocketAddr::new(service.config().address, service.config().port);
    match service.launch().await {
        Ok(_stopped) => ExitCode::SUCCESS,
        Err(error) => refuse(&format!("{address}: {}", in_words(error.kind()))),
    }
}

/// Prints why the service can't run, and returns the exit code for a failure.
pub fn refuse(reason: &impl Display) -> ExitCode {
    eprintln!("{reason}");
    ExitCode::FAILURE
}

/// Describes the error and, if possible, how to fix it.
fn in_words(error: &ErrorKind) -> String {
    match error {
        ErrorKind::Bind(reason) => {
            format!("cannot listen there: {reason}; choose another ADDRESS or PORT")
        }
        // Rocket itself has already logged the missing type.
        ErrorKind::SentinelAborts(_) => {
            "a handler asks for state of the type above; `.manage(…)` it in main.rs".into()
        }
        other => format!("the service cannot start: {other}"),
    }
}
