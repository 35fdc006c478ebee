//! Starts the service, and says in one sentence on stderr what prevented it; tells it to stop.

use std::{
    fmt::Display, future::IntoFuture, io, net::SocketAddr, pin::pin, process::ExitCode, sync::Arc,
};

use axum::{Router, serve::ListenerExt};
use tokio::{
    net::TcpListener,
    select,
    signal::{
        ctrl_c,
        unix::{SignalKind, signal},
    },
    sync::Notify,
    time::{Duration, timeout},
};

use crate::{body, settings::Settings};

/// Serves these routes until the service is told to stop, by SIGTERM or Ctrl-C. After that nothing new is accepted. A running
/// request may wait for its body, and twice for a connection and for an answer on it; then connections are closed.
pub async fn serve(routes: Router, settings: &Settings) -> ExitCode {
    let address = SocketAddr::new(settings.address, settings.port);
    let listener = match TcpListener::bind(address).await {
        Ok(listener) => listener,
        Err(error) => {
            let reason = format!("{address}: cannot listen there: {error}");
            return refuse(&format!("{reason}; choose another ADDRESS or PORT"));
        }
    };
    // A small answer must not wait for the acknowledgment of the one before it.
    let listener = listener.tap_io(|connection| {
        // A connection that is gone already needs no option.
        let _ = connection.set_nodelay(true);
    });
    let grace = body::PATIENCE + 4 * settings.database.timeout + Duration::from_secs(1);
    let stop = Arc::new(Notify::new());
    let told_to_stop = Arc::clone(&stop).notified_owned();
    let server = axum::serve(listener, routes).with_graceful_shutdown(told_to_stop);
    let mut running = pin!(server.into_future());
    let ended = select! {
        ended = &mut running => ended,
        received = stop_signal() => {
            if let Err(error) = received {
                return refuse(&format!("cannot listen to signals: {error}"));
            }
            stop.notify_one();
            // Those who are not served by then are never going to be.
            timeout(grace, running).await.unwrap_or(Ok(()))
        }
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => refuse(&format!("{address}: {error}")),
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

/// Says why the service does not run, and gives the exit code for it.
pub fn refuse(reason: &impl Display) -> ExitCode {
    eprintln!("{reason}");
    ExitCode::FAILURE
}
