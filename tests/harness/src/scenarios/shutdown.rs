//! Two services that are told to stop, watched: one that has requests in flight, and one whose clients would never let it go.

use std::net::SocketAddr;
use std::process::ExitStatus;
use std::time::Duration;

use futures_util::future::join_all;
use sqlx::postgres::PgConnection;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::Instant;

use crate::failure::Failure;
use crate::http::Answer;
use crate::http::Client;
use crate::http::Download;
use crate::service::Service;
use crate::service::Settings;
use crate::silence::lock_the_records;
use crate::silence::read;
use crate::silence::read_until_all_work;
use crate::silence::wait_for_waiting;
use crate::sockets;

/// How long the requests in flight are held: longer than the second that a service had for them before it was to be shipped.
const HELD: Duration = Duration::from_millis(1150);
/// How soon new connections must be refused.
const REFUSED_WITHIN: Duration = Duration::from_secs(1);
/// How long a service may take to let its clients go, beside the time limits of a request that it has just accepted: with the
/// documented defaults it has ended when the ten seconds are over that Docker waits before it kills.
const LET_GO_WITHIN: Duration = Duration::from_secs(8);
/// Connections on which nothing is asked.
const IDLE_CONNECTIONS: usize = 50;
/// Between two looks at something that cannot be awaited.
const POLL: Duration = Duration::from_millis(5);

/// What was observed of both.
#[derive(Debug)]
pub struct Shutdown {
    /// The one that has requests in flight.
    pub busy: Busy,
    /// The one with a client that takes no more of its export, and with idle connections.
    pub held: Held,
}

/// A service that is told to stop while its database keeps the queries of some requests waiting.
#[derive(Debug)]
pub struct Busy {
    /// The answers to these requests, and to as many again that waited for a connection to the database.
    pub in_flight: Vec<Result<Answer, Failure>>,
    /// Whether a connection was refused while they were in flight.
    pub refuses: bool,
    /// How it ended.
    pub end: End,
}

/// A service that is told to stop while clients keep connections to it, and want nothing.
#[derive(Debug)]
pub struct Held {
    /// How it ended; none when the clients could not get that far.
    pub end: Result<End, Failure>,
}

/// How a service ended that was told to.
#[derive(Debug, Clone, Copy)]
pub struct End {
    /// Its status; none when it had to be killed.
    pub status: Option<ExitStatus>,
    /// The time from SIGTERM to its end.
    pub took: Duration,
    /// The longest that it may take.
    pub limit: Duration,
}

impl Busy {
    /// Watches a service with these settings. `database` is the test's own connection.
    ///
    /// # Errors
    /// When that connection fails.
    pub async fn watch(
        service: &mut Service,
        client: &Client,
        database: &mut PgConnection,
        settings: &Settings,
    ) -> anyhow::Result<Busy> {
        let pool_size = settings.pool_size;
        // All connections are open before, so that the queries begin at once.
        read_until_all_work(client, pool_size.into()).await;
        let mut lock = lock_the_records(database).await?;
        let (in_flight, seen) = tokio::join!(read(client, 2 * usize::from(pool_size)), async {
            let waiting =
                wait_for_waiting(&mut lock, |waiting| waiting == i64::from(pool_size)).await;
            // The others wait inside the service, where nobody sees them. Who connected after them is answered, and all that
            // was sent has been read: a request that nobody has read yet may be refused.
            let _ = client.get("/health").await;
            sockets::wait_until_read(service.address().port(), 2 * usize::from(pool_size)).await;
            let asked = Instant::now();
            service.ask_to_stop();
            let refuses = refuses_connections(service.address()).await;
            tokio::time::sleep_until(asked + HELD).await;
            let released = lock.rollback().await;
            waiting.and(released).map(|()| (asked, refuses))
        });
        let (asked, refuses) = seen?;
        Ok(Busy {
            in_flight,
            refuses,
            end: End::of(service, asked, settings.timeout).await,
        })
    }
}

impl Held {
    /// Watches a service with these settings, that has more records than its client takes.
    pub async fn watch(service: &mut Service, client: &Client, settings: &Settings) -> Held {
        // All connections are open before, so that the export gets one in its short time.
        read_until_all_work(client, settings.pool_size.into()).await;
        let clients = tokio::try_join!(stalled_export(client), idle_connections(service.address()));
        let end = match clients {
            Ok(_connections) => {
                let asked = Instant::now();
                service.ask_to_stop();
                Ok(End::of(service, asked, settings.timeout).await)
            }
            Err(failure) => Err(failure),
        };
        Held { end }
    }
}

impl End {
    /// Waits for the end of a service that was asked for it, and has this `DATABASE_TIMEOUT_MS`.
    async fn of(service: &mut Service, asked: Instant, timeout: Duration) -> End {
        // A request may wait that long for a connection, and as long for its query.
        let limit = 2 * timeout + LET_GO_WITHIN;
        let mut status = service.exited();
        while status.is_none() && asked.elapsed() < limit {
            tokio::time::sleep(POLL).await;
            status = service.exited();
        }
        End {
            status,
            took: asked.elapsed(),
            limit,
        }
    }
}

/// Whether it refuses a new connection before the limit.
async fn refuses_connections(address: SocketAddr) -> bool {
    let deadline = Instant::now() + REFUSED_WITHIN;
    while TcpStream::connect(address).await.is_ok() {
        if Instant::now() > deadline {
            return false;
        }
        tokio::time::sleep(POLL).await;
    }
    true
}

/// An export of which a client has taken one line, and takes no more.
async fn stalled_export(client: &Client) -> Result<Download, Failure> {
    let mut export = client.download("/records/export").await?;
    export.line().await?;
    Ok(export)
}

/// Connections on which one request has been answered, and nothing else is asked.
async fn idle_connections(address: SocketAddr) -> Result<Vec<TcpStream>, Failure> {
    let connections = (0..IDLE_CONNECTIONS).map(|_| idle_connection(address));
    let connections: std::io::Result<Vec<TcpStream>> =
        join_all(connections).await.into_iter().collect();
    connections.map_err(|error| {
        Failure::new(
            format!("answers on {IDLE_CONNECTIONS} connections at the same time"),
            error.to_string(),
        )
    })
}

async fn idle_connection(address: SocketAddr) -> std::io::Result<TcpStream> {
    let mut connection = TcpStream::connect(address).await?;
    let request = format!("GET /health HTTP/1.1\r\nHost: {address}\r\n\r\n");
    connection.write_all(request.as_bytes()).await?;
    connection.read_exact(&mut [0; 12]).await?;
    Ok(connection)
}
