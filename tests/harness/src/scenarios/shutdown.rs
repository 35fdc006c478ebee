//! Two services that are told to stop, watched: one with requests in flight, and one whose clients would never disconnect.

use std::net::SocketAddr;
use std::process::ExitStatus;
use std::time::Duration;

use futures_util::future::try_join_all;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::Instant;

use super::silence::{lock_the_records, read, read_until_all_work, wait_for_waiting};
use super::stage::database_trouble;
use super::{Context, Place, Played, Scenario, When, judge_all, large};
use crate::scenarios::ContractTest;
use crate::service::{Service, sockets};
use workshop_base::wait;
use workshop_requests::failure::Failure;
use workshop_requests::http::{Answer, Client, Download};

pub use super::judged as test;

/// `DATABASE_TIMEOUT_MS` of the service with requests in flight: longer than these are held, plus what a slow machine adds. Rocket
/// takes twice as long to stop, whenever its last request has ended.
const TIMEOUT: Duration = Duration::from_secs(2);
/// `DATABASE_TIMEOUT_MS` of the other one, whose connections are open before it matters.
const SHORT_TIMEOUT: Duration = Duration::from_millis(600);
/// How long the requests in flight are held: longer than the one second that services had for them up to exercise 7.
const HELD: Duration = Duration::from_millis(1100);
/// How soon new connections must be refused.
const REFUSED_WITHIN: Duration = Duration::from_secs(3);
/// The maximum time for a service to disconnect its clients, beyond the time limits of a request that it has just accepted: with the
/// documented defaults it ends within the ten seconds that Docker waits before it kills.
const LET_GO_WITHIN: Duration = Duration::from_secs(8);
/// Connections on which nothing is asked.
const IDLE_CONNECTIONS: usize = 50;

pub static SCENARIO: Scenario = Scenario::new("shutdown", When::Waiting, 7, |place, tests| {
    Box::pin(play(place, tests))
});

async fn play(place: &Place<'_>, tests: &[&ContractTest]) -> anyhow::Result<Played> {
    let (busy, held) = tokio::join!(place.stage(TIMEOUT), large::stage(place, SHORT_TIMEOUT));
    let (mut busy, mut held) = (busy?, held?);
    let (watched, held_seen) = tokio::join!(Busy::watch(&mut busy), watch_held(&mut held));
    let seen = Shutdown {
        busy: watched.map_err(|error| database_trouble(error.into()))?,
        held: held_seen,
    };
    let log = format!("{}\n{}", busy.log_tail(), held.log_tail());
    let statuses = judge_all(&seen, &log, tests).await?;
    let mut played = busy.leaves_with(statuses);
    played.leaving.extend(held.leaves_with(Vec::new()).leaving);
    Ok(played)
}

/// The observations of both.
#[derive(Debug)]
pub struct Shutdown {
    /// The service with requests in flight.
    pub busy: Busy,
    /// The service with a stalled export and with idle connections.
    pub held: Result<End, Failure>,
}

/// A service that is told to stop while its database keeps the queries of some requests waiting.
#[derive(Debug)]
pub struct Busy {
    /// The answers to these requests, and to as many again that waited for a connection to the database.
    pub in_flight: Vec<Result<Answer, Failure>>,
    /// Whether a connection was refused while they were in flight.
    pub refuses: bool,
    pub end: End,
}

/// How a service ended after it was told to stop.
#[derive(Debug, Clone, Copy)]
pub struct End {
    /// Its status; `None` if it had to be killed.
    pub status: Option<ExitStatus>,
    /// The time from SIGTERM to its end.
    pub took: Duration,
    /// The maximum time that it may take.
    pub limit: Duration,
}

impl Busy {
    async fn watch(stage: &mut Context) -> sqlx::Result<Busy> {
        let pool_size = stage.pool_size();
        let (service, client) = (&mut stage.service, &stage.client);
        let mut database = stage.database.lock().await;
        // All connections are open before, so that the queries begin at once.
        read_until_all_work(client, pool_size).await;
        let mut lock = lock_the_records(&mut database).await?;
        let (in_flight, seen) = tokio::join!(read(client, 2 * pool_size), async {
            let waiting = wait_for_waiting(&mut lock, pool_size as i64..).await;
            // The others wait inside the service, where they can't be seen. A later connection is answered, and everything that
            // was sent has been read: an unread request may be refused.
            let _ = client.get("/health").await;
            sockets::wait_until_read(service.address().port(), 2 * pool_size).await;
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
            end: End::of(service, asked, stage.settings.timeout).await,
        })
    }
}

/// Watches a service with more records than its client takes; fails if the clients can't get that far.
async fn watch_held(stage: &mut Context) -> Result<End, Failure> {
    let pool_size = stage.pool_size();
    let (service, client) = (&mut stage.service, &stage.client);
    // All connections are open before, so that the export gets one in its short time.
    read_until_all_work(client, pool_size).await;
    let _connections =
        tokio::try_join!(stalled_export(client), idle_connections(service.address()))?;
    let asked = Instant::now();
    service.ask_to_stop();
    Ok(End::of(service, asked, stage.settings.timeout).await)
}

impl End {
    /// Waits for the end of a service with this `DATABASE_TIMEOUT_MS` that was told to stop.
    async fn of(service: &mut Service, asked: Instant, timeout: Duration) -> End {
        // A request may wait that long for a connection, and as long for its query.
        End::within(2 * timeout + LET_GO_WITHIN, service, asked).await
    }

    /// Waits for the end of a service that was told to stop, within this limit.
    pub(super) async fn within(limit: Duration, service: &mut Service, asked: Instant) -> End {
        End {
            status: wait::until((asked + limit).into_std(), async || service.exited()).await,
            took: asked.elapsed(),
            limit,
        }
    }
}

/// Whether it refuses a new connection before the limit.
async fn refuses_connections(address: SocketAddr) -> bool {
    let refused = async || TcpStream::connect(address).await.err();
    wait::within(REFUSED_WITHIN, refused).await.is_some()
}

/// An export whose client has read one line and stopped.
async fn stalled_export(client: &Client) -> Result<Download, Failure> {
    let mut export = client.download("/records/export").await?;
    export.line().await?;
    Ok(export)
}

/// Connections that are idle after one answered request.
async fn idle_connections(address: SocketAddr) -> Result<Vec<TcpStream>, Failure> {
    let connections = try_join_all((0..IDLE_CONNECTIONS).map(|_| idle_connection(address)));
    connections.await.map_err(|error| {
        let expected = format!("answers on {IDLE_CONNECTIONS} connections at the same time");
        Failure::new(expected, error.to_string())
    })
}

async fn idle_connection(address: SocketAddr) -> std::io::Result<TcpStream> {
    let mut connection = TcpStream::connect(address).await?;
    let request = format!("GET /health HTTP/1.1\r\nHost: {address}\r\n\r\n");
    connection.write_all(request.as_bytes()).await?;
    connection.read_exact(&mut [0; 12]).await?;
    Ok(connection)
}
