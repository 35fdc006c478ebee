//! Serves until the service is told to stop, and then loses nothing.

use std::{
    future::{self, IntoFuture},
    process::ExitCode,
    time::Duration,
};

use axum::{Router, serve::ListenerExt};
use tokio::{
    net::TcpListener,
    select,
    signal::{
        ctrl_c,
        unix::{SignalKind, signal},
    },
    time::sleep,
};

use crate::settings::Settings;

/// How long requests that are under way may take after a stop: to send a body, and to wait for the database.
const GRACE: Duration = Duration::from_secs(4);

/// Serves these routes until SIGTERM or Ctrl-C. After that nothing new is accepted, and what is under way is answered.
pub async fn serve(settings: &Settings, routes: Router) -> ExitCode {
    let address = settings.address;
    let listener = match TcpListener::bind(address).await {
        Ok(listener) => listener,
        Err(error) => {
            return refuse(&format!(
                "cannot listen at {address}: {error}; choose another ADDRESS or PORT"
            ));
        }
    };
    // A small answer must not wait for the acknowledgment of the one before it.
    let listener = listener.tap_io(|connection| {
        // A connection that is gone already needs no option.
        let _ = connection.set_nodelay(true);
    });
    let server = axum::serve(listener, routes).with_graceful_shutdown(told_to_stop());
    select! {
        ended = server.into_future() => match ended {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => refuse(&format!("{address}: {error}")),
        },
        // Those who are not served by then are never going to be.
        () = async { told_to_stop().await; sleep(GRACE).await } => ExitCode::SUCCESS,
    }
}

/// Returns at SIGTERM or Ctrl-C.
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

/// Says why the service does not run, and gives the exit code for it.
pub fn refuse(reason: &str) -> ExitCode {
    eprintln!("{reason}");
    ExitCode::FAILURE
}
