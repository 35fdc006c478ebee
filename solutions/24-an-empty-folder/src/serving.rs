//! The server: limits connections, since anyone can open one, and shuts down gracefully.

use std::{future, pin::pin, process::ExitCode, sync::Arc, time::Duration};

use axum::{Router, serve::Listener};
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{
    io::{AsyncRead, AsyncReadExt},
    net::{TcpListener, TcpStream},
    select,
    signal::{
        ctrl_c,
        unix::{SignalKind, signal},
    },
    sync::{Semaphore, watch},
    time::timeout,
};
use tokio_io_timeout::TimeoutStream;

use crate::settings::Settings;

/// The grace period in which requests in flight can read their bodies and use the database.
const GRACE: Duration = Duration::from_secs(4);

/// The maximum number of open connections. Further clients wait to be accepted.
const MAX_CONNECTIONS: u32 = 1024;

/// The time limit for a client to send a request's head, including idle time, or to accept response data.
const PATIENCE: Duration = Duration::from_secs(10);

/// The maximum time for reading and discarding the rest of a refused body.
const LINGER: Duration = Duration::from_secs(2);

// ANCHOR: serve
/// Serves until SIGTERM or Ctrl-C. Then stops accepting, and answers the requests in flight.
pub async fn serve(settings: &Settings, routes: Router) -> ExitCode {
    let address = settings.address;
    let mut listener = match TcpListener::bind(address).await {
        Ok(listener) => listener,
        Err(error) => {
            return refuse(&format!(
                "cannot listen at {address}: {error}; choose another ADDRESS or PORT"
            ));
        }
    };
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS as usize));
    let (stop, stopping) = watch::channel(());
    let mut told = pin!(told_to_stop());
    loop {
        let accepted = async {
            let place = Arc::clone(&places).acquire_owned().await;
            (Listener::accept(&mut listener).await.0, place)
        };
        select! {
            (client, place) = accepted => {
                let connection = connection(client, routes.clone(), stopping.clone());
                tokio::spawn(async move {
                    connection.await;
                    drop(place);
                });
            }
            () = &mut told => break,
        }
    }
    drop((listener, stop));
    // Waits until all connections have returned their permits, or until the grace period is over.
    let _ = timeout(GRACE, places.acquire_many(MAX_CONNECTIONS)).await;
    ExitCode::SUCCESS
}

/// Serves the requests on one connection, until either side closes it.
async fn connection(client: TcpStream, routes: Router, mut stopping: watch::Receiver<()>) {
    // Without `TCP_NODELAY`, a small response waits until the previous one is acknowledged. An error means that the client is gone.
    let _ = client.set_nodelay(true);
    let mut client = pin!(TimeoutStream::new(client));
    client.as_mut().set_write_timeout_pinned(Some(PATIENCE));
    let answering = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE) // starts with the connection, and again at the end of each answer
        .serve_connection(
            TokioIo::new(client.as_mut()),
            TowerToHyperService::new(routes),
        );
    let mut answering = pin!(answering);
    let ended = select! {
        ended = answering.as_mut() => ended,
        // The sender of this channel is dropped when the service has to stop.
        _ = stopping.changed() => {
            answering.as_mut().graceful_shutdown();
            answering.await
        }
    };
    if ended.is_ok() {
        linger(client).await;
    }
}

/// Reads the rest of a refused body (a *lingering close*). Closing a connection with unread
/// bytes resets it, and the client might never see the response.
async fn linger(mut client: impl AsyncRead + Unpin) {
    let mut unwanted = [0; 8192];
    let read = async { while let Ok(1..) = client.read(&mut unwanted).await {} };
    let _ = timeout(LINGER, read).await;
}
// ANCHOR_END: serve

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
