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

/// Starts the service and waits until it is told to stop, by SIGTERM or Ctrl-C.
///
/// Rocket could handle signals by itself, in a task beside the one that runs it. In Rocket 0.5.2
/// the two can race: the service then ends at once and drops the requests that wait. So the signal
/// is handled here, by the task that runs the service.
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

/// Returns at SIGTERM or Ctrl-C.
async fn stop_signal() -> io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    select! {
        _ = terminate.recv() => Ok(()),
        pressed = ctrl_c() => pressed,
    }
}

/// Prints why the service can't run, and returns its exit code.
pub fn refuse(reason: &impl Display) -> ExitCode {
    eprintln!("{reason}");
    ExitCode::FAILURE
}

/// Describes what happened and, if possible, what to do about it.
fn in_words(error: &ErrorKind) -> String {
    match error {
        ErrorKind::Bind(reason) => {
            format!("cannot listen there: {reason}; choose another ADDRESS or PORT")
        }
        // Rocket itself has logged which type it is.
        ErrorKind::SentinelAborts(_) => {
            "a handler asks for state of the type above; `.manage(…)` it in main.rs".into()
        }
        other => format!("the service cannot start: {other}"),
    }
}
