//! Starts and stops the service. If it can't start, one sentence on stderr says why.

use std::{fmt::Display, io, net::SocketAddr, pin::pin, process::ExitCode};

use rocket::{
    Build, Rocket,
    error::ErrorKind,
    tokio::{
        select,
        signal::{
            ctrl_c,
            unix::{SignalKind, signal},
        },
    },
};

/// Starts the service, and runs it until SIGTERM or Ctrl-C.
///
/// Rocket could handle signals itself, in a separate task. In Rocket 0.5.2, that task and the
/// one that runs the service can race: the service then stops at once and drops the requests
/// that are waiting. So the signal is handled here, by the task that runs the service.
pub async fn launch(service: Rocket<Build>) -> ExitCode {
    let without_signals = service
        .figment()
        .clone()
        .merge(("shutdown.ctrlc", false))
        .merge(("shutdown.signals", Vec::<String>::new()));
    let service = match service.configure(without_signals).ignite().await {
        Ok(service) => service,
        Err(error) => return refuse(&in_words(error.kind())),
    };
    let address = SocketAddr::new(service.config().address, service.config().port);
    let shutdown = service.shutdown();
    let mut running = pin!(service.launch());
    let ended = select! {
        ended = &mut running => ended,
        received = stop_signal() => {
            if let Err(error) = received {
                return refuse(&format!("cannot listen to signals: {error}"));
            }
            shutdown.notify();
            running.await
        }
    };
    match ended {
        Ok(_stopped) => ExitCode::SUCCESS,
        Err(error) => refuse(&format!("{address}: {}", in_words(error.kind()))),
    }
}

/// Waits for SIGTERM or Ctrl-C.
async fn stop_signal() -> io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    select! {
        _ = terminate.recv() => Ok(()),
        pressed = ctrl_c() => pressed,
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
