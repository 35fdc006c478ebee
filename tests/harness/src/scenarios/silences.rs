//! A line that falls silent again and again while clients ask: each time the connections that are open are lost without a word,
//! and new ones work.

use std::cell::Cell;
use std::time::Duration;

use futures_util::future::join_all;
use sqlx::PgConnection;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use super::silence::{lock_the_records, read, read_until_all_work, wait_for_waiting};
use super::stage::database_trouble;
use super::{Place, Played, Scenario, Stage, When};
use crate::request::failure::Failure;
use crate::request::http::{Answer, Body, Client};
use crate::scenarios::ContractTest;

pub use super::judged as test;

/// `DATABASE_TIMEOUT_MS`: each silence costs as much, and opening a connection must not, on a busy machine either. Shorter than a
/// connection may be idle and still be lent without a question.
const TIMEOUT: Duration = Duration::from_millis(400);
/// The longest that an answer may take: the time limit for a connection, the one for the query, and what a slow machine adds.
const ANSWER_LIMIT: Duration = Duration::from_millis(2 * 400 + 1000);
/// How often the line falls silent: more often than the pool has connections.
const SILENCES: usize = 6;
/// How soon after the last silence everything must work again.
pub const RECOVERY_LIMIT: Duration = Duration::from_secs(2);
/// How long a service may take to close what it has given up.
const RELEASE_LIMIT: Duration = Duration::from_secs(2);
/// Between two looks at something that cannot be awaited.
const POLL: Duration = Duration::from_millis(5);
/// What is asked besides reads.
const OTHER_PATHS: [&str; 3] = ["/ready", "/records?limit=10", "/records/export"];

pub static SCENARIO: Scenario = Scenario {
    name: "silences",
    when: When::Waiting,
    of_the_contract: true,
    play: |place, tests| Box::pin(play(place, tests)),
};

async fn play(place: &Place<'_>, tests: &[&ContractTest]) -> anyhow::Result<Played> {
    let stage = place.stage(TIMEOUT).await?;
    let silences = Silences::watch(&stage)
        .await
        .map_err(|error| database_trouble(error.into()))?;
    stage.judged(&silences, tests).await
}

/// What a service did while its line fell silent again and again, and afterwards.
#[derive(Debug)]
pub struct Silences {
    /// Every answer that came under load.
    pub under_load: Vec<Result<Answer, Failure>>,
    /// The silences that there were; fewer than planned when the service did not come back from one.
    pub silences: usize,
    /// Every call, once all of them worked after the last silence, or as they were at the limit.
    pub afterwards: Vec<Result<Answer, Failure>>,
    /// The most queries that were under way at the same time after the last silence.
    pub at_once: usize,
    /// How many the service may have.
    pub pool_size: usize,
    /// The connections to the database that were open in the end.
    pub connections: usize,
    /// The most that were open at the same time.
    pub most_connections: usize,
}

impl Silences {
    async fn watch(stage: &Stage) -> sqlx::Result<Silences> {
        let client = stage.context.client.within(ANSWER_LIMIT);
        let (proxy, pool_size) = (&stage.context.proxy, stage.pool_size());
        read_until_all_work(&client, pool_size).await;

        let (progress, ended) = (watch::channel(0).0, watch::channel(false).0);
        let clients =
            (0..2 * pool_size).map(|number| ask_until(&client, number, &progress, &ended));
        let (under_load, (silences, last)) = tokio::join!(join_all(clients), async {
            let (mut silences, mut last) = (0, Instant::now());
            for _ in 0..SILENCES {
                proxy.lose();
                (silences, last) = (silences + 1, Instant::now());
                if !comes_back(&progress, 2 * pool_size).await {
                    break;
                }
            }
            ended.send_replace(true);
            (silences, last)
        });

        let deadline = last + RECOVERY_LIMIT;
        let mut afterwards = every_call(&client, pool_size).await;
        while !afterwards.iter().all(works) && Instant::now() < deadline {
            sleep(POLL).await;
            afterwards = every_call(&client, pool_size).await;
        }
        let mut database = stage.context.database.lock().await;
        let mut at_once = queries_at_once(&client, &mut database, pool_size).await?;
        while at_once < pool_size && Instant::now() < deadline {
            at_once = at_once.max(queries_at_once(&client, &mut database, pool_size).await?);
        }
        drop(database);
        let released = Instant::now() + RELEASE_LIMIT;
        while proxy.open() > pool_size && Instant::now() < released {
            sleep(POLL).await;
        }
        Ok(Silences {
            under_load: under_load.into_iter().flatten().collect(),
            silences,
            afterwards,
            at_once,
            pool_size,
            connections: proxy.open(),
            most_connections: proxy.most_open(),
        })
    }
}

fn works(answer: &Result<Answer, Failure>) -> bool {
    answer.as_ref().is_ok_and(|answer| answer.status() == 200)
}

/// Asks, again and again, until it is told to end. What has worked counts as progress.
async fn ask_until(
    client: &Client,
    number: usize,
    progress: &watch::Sender<usize>,
    ended: &watch::Sender<bool>,
) -> Vec<Result<Answer, Failure>> {
    let mut answers = Vec::new();
    let path = match OTHER_PATHS.get(number) {
        Some(path) => (*path).to_owned(),
        None => format!("/read/{number}"),
    };
    while !*ended.borrow() {
        let answer = client.get(&path).await;
        if works(&answer) {
            progress.send_modify(|worked| *worked += 1);
        }
        answers.push(answer);
    }
    answers
}

/// Waits until so many requests have worked from now on, at most for the limit.
async fn comes_back(progress: &watch::Sender<usize>, requests: usize) -> bool {
    let mut progress = progress.subscribe();
    let wanted = *progress.borrow() + requests;
    let comes = progress.wait_for(|worked| *worked >= wanted);
    tokio::time::timeout(RECOVERY_LIMIT, comes).await.is_ok()
}

/// One request of each kind that needs the database, and as many reads as there are connections.
async fn every_call(client: &Client, pool_size: usize) -> Vec<Result<Answer, Failure>> {
    let others = join_all(OTHER_PATHS.map(|path| client.get(path)));
    let visits = client.post_body("/visits", Body::json(r#"{"ids":[1,2]}"#));
    let (mut answers, others, visits, visit) = tokio::join!(
        read(client, pool_size),
        others,
        visits,
        client.post("/records/1/visit")
    );
    answers.extend(others);
    answers.extend([visits, visit]);
    answers
}

/// How many of as many queries as the pool has connections are under way at the same time, when the records are locked.
async fn queries_at_once(
    client: &Client,
    database: &mut PgConnection,
    pool_size: usize,
) -> sqlx::Result<usize> {
    let mut lock = lock_the_records(database).await?;
    let most = Cell::new(0);
    let all = |waiting: i64| {
        most.set(waiting.max(most.get()));
        waiting == pool_size as i64
    };
    let (_, waiting) = tokio::join!(read(client, pool_size), wait_for_waiting(&mut lock, all));
    waiting?;
    lock.rollback().await?;
    Ok(usize::try_from(most.get()).unwrap_or(0))
}
