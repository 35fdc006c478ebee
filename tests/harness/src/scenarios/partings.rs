//! A service whose peers leave, and which stops itself: watched while many peers come and go, while one is silent, and while the
//! service stops.

use std::ops::RangeInclusive;
use std::time::Duration;

use futures_util::future::{join_all, try_join, try_join_all};
use tokio::time::Instant;

use super::shutdown::End;
use super::{Place, Played, Scenario, When, stage};
use crate::scenarios::ContractTest;
use crate::service::{Service, Settings};
use workshop_base::language::Language;
use workshop_base::{open_files, process};
use workshop_requests::failure::Failure;
use workshop_requests::http::Client;
use workshop_requests::socket::{Event, Socket};

pub use super::judged as test;

/// `DATABASE_TIMEOUT_MS`, on which depends how long a service may take to stop.
const TIMEOUT: Duration = Duration::from_millis(500);
/// `PEER_PING_MS`: a peer that answers no ping is let go after at most twice as long.
const PING: Duration = Duration::from_millis(1500);
/// How long a service may take to stop: a socket whose peer confirms nothing is closed after a while.
const STOPPED_WITHIN: Duration = Duration::from_secs(9);
/// The number of peers in a round, the number of rounds, and the round after which memory is first measured.
const PEERS: usize = 100;
const ROUNDS: usize = 10;
const FIRST_LOOK: usize = 2;
/// How much memory may have grown by since then, in kB: little where nobody collects it, more in a runtime that does so later. A
/// JVM grows until its heap is full, and goes on compiling.
const GROWTH: u64 = 2 << 10;
const GROWTH_OF_A_RUNTIME: u64 = 8 << 10;
const GROWTH_OF_A_JVM: u64 = 32 << 10;
/// How many messages a peer sends in one go, and to how many others: so many that they take longer than a silence may last.
const IN_ONE_GO: usize = 1_000;
const READERS: usize = 22;
/// The number of pings to a silent peer that are awaited.
const PINGS: usize = 3;
/// How many peers are there when the service stops.
const LAST: usize = 50;
/// The heap of a JVM: with a small one it has to collect what it does not need.
const SMALL_HEAP: (&str, &str) = ("JAVA_TOOL_OPTIONS", "-Xmx64m");

pub static SCENARIO: Scenario = Scenario::new("partings", When::Waiting, 10, |place, tests| {
    Box::pin(play(place, tests))
});

async fn play(place: &Place<'_>, tests: &[&ContractTest]) -> anyhow::Result<Played> {
    open_files::allow_sockets(PEERS, &format!("{PEERS} peers"))?;
    let settings = Settings {
        peer_ping: PING,
        ..stage::settings(TIMEOUT)
    };
    let mut launch = place.launch.clone();
    let (name, value) = SMALL_HEAP;
    launch.env.push((name.to_owned(), value.to_owned()));
    let place = Place {
        launch: &launch,
        ..*place
    };
    let mut stage = place.stage_with(settings).await?;
    let client = stage.client.clone();
    let (memory, silent) = tokio::join!(come_and_go(&stage.service, &client), silent_peer(&client));
    let (idle, busy) = tokio::join!(idle_peer(&client), busy_sender(&client));
    let stop = Stop::watch(&mut stage.service, &client).await;
    let growth = match launch.language {
        Language::Rust => GROWTH,
        Language::JavaScript | Language::Python => GROWTH_OF_A_RUNTIME,
        Language::Kotlin => GROWTH_OF_A_JVM,
    };
    let seen = Partings {
        memory,
        growth,
        silent,
        idle,
        busy,
        stop,
    };
    stage.judged(&seen, tests).await
}

#[derive(Debug)]
pub struct Partings {
    /// The memory of the service, in kB, after two rounds of many peers and after the last one; `None` where the system does
    /// not tell.
    pub memory: Result<Option<(u64, u64)>, Failure>,
    /// The maximum that it may grow by in between, in kB.
    pub growth: u64,
    /// Whether the name of a peer that answers no ping is free in time.
    pub silent: Result<(), Failure>,
    /// Whether a peer that reads and sends nothing gets pings, and stays.
    pub idle: Result<(), Failure>,
    /// Whether a peer stays that can answer a ping only after many messages.
    pub busy: Result<(), Failure>,
    /// How the service stopped.
    pub stop: Result<Stop, Failure>,
}

/// A service that stops while peers are there.
#[derive(Debug)]
pub struct Stop {
    /// With which code each socket was closed, `None` where it just ended.
    pub codes: Vec<Result<Option<u16>, Failure>>,
    pub end: End,
}

/// Rounds of many peers, half of whom close properly. Memory is measured when all of them are gone.
async fn come_and_go(service: &Service, client: &Client) -> Result<Option<(u64, u64)>, Failure> {
    come(client, 1..=FIRST_LOOK).await?;
    let first = memory(service);
    come(client, FIRST_LOOK + 1..=ROUNDS).await?;
    Ok(first.zip(memory(service)))
}

/// These rounds, until the last one's peers are gone.
async fn come(client: &Client, rounds: RangeInclusive<usize>) -> Result<(), Failure> {
    let mut names = Vec::new();
    for round in rounds {
        let peers = (0..PEERS).map(|peer| format!("/peers/round-{round}-{peer}"));
        names = peers.collect();
        let sockets = try_join_all(names.iter().map(|name| client.socket(name))).await?;
        let leaving = sockets.into_iter().enumerate().map(async |(peer, socket)| {
            if peer % 2 == 0 {
                socket.leave().await?;
            }
            Ok::<_, Failure>(())
        });
        try_join_all(leaving).await?;
    }
    // The order in which they are noticed is unknown: all names are free again when all are gone.
    let again = try_join_all(names.iter().map(|name| client.socket_again(name))).await?;
    try_join_all(again.into_iter().map(Socket::leave)).await?;
    Ok(())
}

fn memory(service: &Service) -> Option<u64> {
    process::memory(service.pid())?.pss_kb
}

/// A peer that reads nothing, and so answers no ping, has to lose its name.
async fn silent_peer(client: &Client) -> Result<(), Failure> {
    let _silent = client.socket("/peers/silent").await?;
    client.socket_again("/peers/silent").await.map(drop)
}

/// A proxy ends a connection on which nothing comes for a while. Pings keep it open.
async fn idle_peer(client: &Client) -> Result<(), Failure> {
    let mut idle = client.socket("/peers/idle").await?;
    for _ in 0..PINGS {
        idle.ping().await?;
    }
    Ok(())
}

/// The service takes these messages slowly, and a pong comes after those that were sent before.
async fn busy_sender(client: &Client) -> Result<(), Failure> {
    let mut sender = client.socket("/peers/busy-sender").await?;
    let names = (0..READERS).map(|reader| format!("/peers/busy-reader-{reader}"));
    let readers = try_join_all(names.map(async |name| client.socket(&name).await)).await?;
    for _ in 0..IN_ONE_GO {
        sender.say(r#"{"text":"more"}"#).await?;
    }
    sender.say(r#"{"to":"busy-sender","text":"done"}"#).await?;
    let reading = readers.into_iter().map(async |mut reader| {
        for _ in 0..IN_ONE_GO {
            expect_a_text(&mut reader).await?;
        }
        Ok(())
    });
    try_join(expect_a_text(&mut sender), try_join_all(reading))
        .await
        .map(drop)
}

async fn expect_a_text(socket: &mut Socket) -> Result<(), Failure> {
    match socket.next().await? {
        Event::Text(_) => Ok(()),
        other => Err(socket.failure("a message", other.to_string())),
    }
}

impl Stop {
    async fn watch(service: &mut Service, client: &Client) -> Result<Stop, Failure> {
        // This one reads nothing, so it confirms no close either.
        let _silent = client.socket("/peers/does-not-answer").await?;
        let paths = (0..LAST).map(|peer| format!("/peers/last-{peer}"));
        let sockets = paths.map(async |path| client.socket(&path).await);
        let sockets = try_join_all(sockets).await?;
        let asked = Instant::now();
        service.ask_to_stop();
        let codes = join_all(
            sockets
                .into_iter()
                .map(async |mut socket| socket.end().await),
        )
        .await;
        let end = End::within(2 * TIMEOUT + STOPPED_WITHIN, service, asked).await;
        Ok(Stop { codes, end })
    }
}
