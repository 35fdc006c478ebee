//! The case *leak*, watched: many clients listen to visits, hear of one, and go. Then visits go on.

use std::time::Duration;

use futures_util::future::{join_all, try_join_all};
use serde::Deserialize;

use super::outage::RECOVERY_LIMIT;
use super::reproduction::{QUIET, Reproduction};
use super::{Context, Place, Played, Scenario, When, stage};
use crate::scenarios::ContractTest;
use crate::service::Settings;
use workshop_base::wait;
use workshop_requests::failure::Failure;
use workshop_requests::http::{Client, Download};

pub use super::judged as test;

/// `DATABASE_TIMEOUT_MS`.
const TIMEOUT: Duration = Duration::from_secs(2);
/// The minimum number of clients that come and go, and how many more there may be.
const CLIENTS: (usize, usize) = (120, 60);
/// How many tasks more than before there may be when all clients have gone: those of connections that come and go.
pub const SPARE: usize = 20;
/// How far a count of tasks may be from the last observed one to belong to the same run.
const NEAR: usize = 4;
/// Which record is visited.
const VISITED: &str = "/records/1/visit";

pub static SCENARIO: Scenario = Scenario {
    of_the_contract: false,
    ..Scenario::new("leak", When::Waiting, 6, |place, tests| {
        Box::pin(play(place, tests))
    })
};

async fn play(place: &Place<'_>, tests: &[&ContractTest]) -> anyhow::Result<Played> {
    let (stage, leak) = watched(place, QUIET).await?;
    stage.judged(&leak, tests).await
}

/// The numbers of clients and of tasks, as the service reports them.
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct Watching {
    /// The clients.
    pub watching: usize,
    /// All tasks.
    pub tasks: usize,
}

/// The service's reports while many clients listened, and afterwards.
#[derive(Debug)]
pub struct Leak {
    /// How many clients there were.
    pub clients: usize,
    /// Before the first of them came.
    pub before: Result<Watching, Failure>,
    /// The line that each of them got for a visit.
    pub heard: Result<Vec<Vec<u8>>, Failure>,
    /// After all had gone, and some visits had come: once nothing was left of the clients, or at the end of the limit.
    pub after: Result<Watching, Failure>,
}

async fn watched(place: &Place<'_>, log_level: &str) -> anyhow::Result<(Context, Leak)> {
    let settings = Settings {
        log_level: log_level.to_owned(),
        ..stage::settings(TIMEOUT)
    };
    let stage = place.stage_with(settings).await?;
    let (fewest, more) = CLIENTS;
    // A different number in each run.
    let clients = fewest + stage.service.pid() as usize % more;
    let leak = Leak::watch(&stage.client, clients).await;
    Ok((stage, leak))
}

impl Leak {
    async fn watch(client: &Client, clients: usize) -> Leak {
        let before = ask(client).await;
        let heard = listen(client, clients).await;
        let most = before.as_ref().map_or(0, |before| before.tasks + SPARE);
        let after = wait::last_within(
            RECOVERY_LIMIT,
            async || {
                // The service notices that a client has gone when it writes to it.
                client.post(VISITED).await?;
                ask(client).await
            },
            |seen: &Result<Watching, Failure>| {
                let is_over = |seen: &Watching| seen.watching == 0 && seen.tasks <= most;
                seen.as_ref().is_ok_and(is_over)
            },
        )
        .await;
        Leak {
            clients,
            before,
            heard,
            after,
        }
    }
}

/// What the service says about itself.
async fn ask(client: &Client) -> Result<Watching, Failure> {
    let answer = client.get("/live/watching").await?;
    answer.expect_status(200)?;
    serde_json::from_slice(answer.body())
        .map_err(|error| answer.failure("{\"watching\":…,\"tasks\":…}", error.to_string()))
}

/// A client that listens: its first line has come.
async fn join(client: &Client) -> Result<Download, Failure> {
    let mut listening = client.download("/live").await?;
    listening.expect_status(200).await?;
    listening.line().await?;
    Ok(listening)
}

/// Has this many clients listen until they have heard of a visit. They are gone then.
async fn listen(client: &Client, clients: usize) -> Result<Vec<Vec<u8>>, Failure> {
    let mut listening = try_join_all((0..clients).map(|_| join(client))).await?;
    client.post(VISITED).await?.expect_status(200)?;
    let lines = join_all(listening.iter_mut().map(Download::line)).await;
    lines.into_iter().collect()
}

/// Plays the case, and leaves the service as it is then.
pub(super) async fn reproduce(place: &Place<'_>, log_level: &str) -> anyhow::Result<Reproduction> {
    let (stage, leak) = watched(place, log_level).await?;
    let told = |seen: &Result<Watching, Failure>| match seen {
        Ok(Watching { watching, tasks }) => format!("{watching} clients watching, {tasks} tasks"),
        Err(_) => "no usable answer".to_owned(),
    };
    let seen = vec![
        format!("before, GET /live/watching: {}", told(&leak.before)),
        format!(
            "{} clients called GET /live, heard of a visit, and went",
            leak.clients
        ),
        format!(
            "visits went on for {} s; then you are asked for the rest",
            RECOVERY_LIMIT.as_secs()
        ),
    ];
    let tasks = leak.after.map_or(0, |after| after.tasks);
    let evidence = tasks.saturating_sub(NEAR)..=tasks + NEAR;
    let mut evidence: Vec<String> = evidence.map(|count| count.to_string()).collect();
    evidence.rotate_left(NEAR);
    Ok(Reproduction {
        stage,
        seen,
        evidence,
    })
}
