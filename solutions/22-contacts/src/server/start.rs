//! Starts and stops the service. If it can't start, it says why in one sentence on stderr. Connections are
//! limited in number and time, because anyone can open them.

use std::{fmt::Display, io, net::SocketAddr, pin::pin, process::ExitCode, sync::Arc};

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
    time::{Duration, timeout},
};
use tokio_io_timeout::TimeoutStream;

use crate::{http::body, settings::Settings};

/// The maximum number of open connections. Further clients wait to be accepted.
const MAX_CONNECTIONS: u32 = 1024;

/// The time limit for a client to send a request's head, including idle time, or to accept response data.
const PATIENCE: Duration = Duration::from_secs(10);

// ANCHOR: serve
/// Serves these routes until SIGTERM or Ctrl-C, then accepts no more connections. The grace
/// period allows for a body and two queries, each with its wait for a database connection.
pub async fn serve(routes: Router, settings: &Settings) -> ExitCode {
    let address = SocketAddr::new(settings.address, settings.port);
    let mut listener = match TcpListener::bind(address).await {
        Ok(listener) => listener,
        Err(error) => {
            let reason = format!("{address}: cannot listen there: {error}");
            return refuse(&format!("{reason}; choose another ADDRESS or PORT"));
        }
    };
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS as usize));
    let (stop, stopping) = watch::channel(());
    let mut stop_signal = pin!(stop_signal());
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
            received = &mut stop_signal => match received {
                Ok(()) => break,
                Err(error) => return refuse(&format!("cannot listen to signals: {error}")),
            },
        }
    }
    drop((listener, stop));
    let grace = body::PATIENCE + 4 * settings.database.timeout + Duration::from_secs(1);
    // All permits are free once all connections end. After `grace`, the open ones are dropped.
    let _ = timeout(grace, places.acquire_many(MAX_CONNECTIONS)).await;
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
        select! {
            () = linger(client) => {}
            _ = stopping.changed() => {}
        }
    }
}

/// A *lingering close*: reads and discards the data that a client still sends after a refusal. Closing at once would
/// reset the connection, and the client could lose the response.
async fn linger(mut client: impl AsyncRead + Unpin) {
    let mut unwanted = [0; 8192];
    let read = async { while let Ok(1..) = client.read(&mut unwanted).await {} };
    let _ = timeout(body::PATIENCE, read).await;
}
// ANCHOR_END: serve

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
