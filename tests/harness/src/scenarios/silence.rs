//! A database that falls silent, watched: connections stay and new ones are accepted, but no answer comes. Then one that has
//! lost its connections without telling anybody.

use std::time::Duration;

use futures_util::future::join_all;
use sqlx::postgres::PgConnection;
use sqlx::{Connection, Postgres, Transaction};
use tokio::time::Instant;

use super::outage::RECOVERY_LIMIT;
use super::stage::database_trouble;
use super::{Place, Played, Scenario, When};
use crate::request::failure::Failure;
use crate::request::http::{Answer, Client};
use crate::scenarios::ContractTest;
use crate::service::proxy::DatabaseProxy;

pub use super::judged as test;

/// How long the database may still work on a query that nobody waits for any more.
const ABANDONED_LIMIT: Duration = Duration::from_secs(1);
/// Between two looks at something that cannot be awaited.
const POLL: Duration = Duration::from_millis(5);

/// `DATABASE_TIMEOUT_MS` of services that wait for it several times: the shortest that the contract allows.
pub const SHORT_TIMEOUT: Duration = Duration::from_millis(250);
/// The longest that an answer may take on these: the time limit for a connection, the one for the query, and what a slow machine
/// adds.
pub const ANSWER_LIMIT_IN_TROUBLE: Duration = Duration::from_millis(2 * 250 + 1000);

pub static SCENARIO: Scenario = Scenario {
    name: "silence",
    when: When::Waiting,
    of_the_contract: true,
    play: |place, tests| Box::pin(play(place, tests)),
};

async fn play(place: &Place<'_>, tests: &[&ContractTest]) -> anyhow::Result<Played> {
    let stage = place.stage(SHORT_TIMEOUT).await?;
    let client = stage.context.client.within(ANSWER_LIMIT_IN_TROUBLE);
    let mut database = stage.context.database.lock().await;
    let silence = Silence::watch(
        &client,
        &stage.context.proxy,
        &mut database,
        stage.pool_size(),
    );
    let silence = silence
        .await
        .map_err(|error| database_trouble(error.into()))?;
    drop(database);
    stage.judged(&silence, tests).await
}

/// The answers to reads that were sent at the same time: of the ids 1, 2, 3, …
pub type Answers = Vec<Result<Answer, Failure>>;

/// What a service did while its database was silent, and afterwards.
#[derive(Debug)]
pub struct Silence {
    /// Reads before, when all was well.
    pub before: Answers,
    /// Reads whose queries were under way when the silence began.
    pub under_way: Answers,
    /// The queries of these that the database still worked on after their limit.
    pub abandoned: i64,
    /// Reads that were sent into the silence.
    pub into_it: Answers,
    /// Reads when the database speaks again: the first ones that all have a record, or else the last before the limit.
    pub after: Answers,
    /// Reads whose queries were under way when their connections were lost.
    pub when_lost: Answers,
    /// Reads after that loss, as in `after`.
    pub after_the_loss: Answers,
}

impl Silence {
    /// Watches a service with a pool of this size. `database` is the test's own connection, past the proxy.
    async fn watch(
        client: &Client,
        proxy: &DatabaseProxy,
        database: &mut PgConnection,
        pool_size: usize,
    ) -> sqlx::Result<Silence> {
        let before = read_until_all_work(client, pool_size).await;

        let mut lock = lock_the_records(database).await?;
        let (under_way, waiting) = tokio::join!(read(client, pool_size), async {
            let waiting = wait_for_waiting(&mut lock, |waiting| waiting == pool_size as i64).await;
            proxy.stall();
            waiting
        });
        waiting?;
        let abandoned = wait_for_waiting(&mut lock, |waiting| waiting == 0).await?;
        lock.rollback().await?;
        let into_it = read(client, 2 * pool_size).await;
        proxy.resume();
        let after = read_until_all_work(client, pool_size).await;

        let mut lock = lock_the_records(database).await?;
        let (when_lost, waiting) = tokio::join!(read(client, pool_size), async {
            let waiting = wait_for_waiting(&mut lock, |waiting| waiting == pool_size as i64).await;
            proxy.lose();
            waiting
        });
        waiting?;
        lock.rollback().await?;
        let after_the_loss = read_until_all_work(client, pool_size).await;
        Ok(Silence {
            before,
            under_way,
            abandoned,
            into_it,
            after,
            when_lost,
            after_the_loss,
        })
    }
}

/// Reads this many records at the same time.
pub(super) async fn read(client: &Client, count: usize) -> Answers {
    let paths: Vec<String> = (1..=count).map(|id| format!("/read/{id}")).collect();
    join_all(paths.iter().map(|path| client.get(path))).await
}

/// Reads again until all of them have a record, at most until the limit.
pub(super) async fn read_until_all_work(client: &Client, count: usize) -> Answers {
    let deadline = Instant::now() + RECOVERY_LIMIT;
    loop {
        let answers = read(client, count).await;
        let work = |answer: &Result<Answer, Failure>| {
            answer.as_ref().is_ok_and(|answer| answer.status() == 200)
        };
        if answers.iter().all(work) || Instant::now() > deadline {
            return answers;
        }
        tokio::time::sleep(POLL).await;
    }
}

/// Holds every query on the records until the transaction ends.
pub(super) async fn lock_the_records(
    database: &mut PgConnection,
) -> sqlx::Result<Transaction<'_, Postgres>> {
    let mut transaction = database.begin().await?;
    sqlx::query("LOCK TABLE records IN ACCESS EXCLUSIVE MODE")
        .execute(&mut *transaction)
        .await?;
    Ok(transaction)
}

/// How many queries wait for the lock: asks until the number is the wanted one, at most until the limit.
pub(super) async fn wait_for_waiting(
    lock: &mut Transaction<'_, Postgres>,
    wanted: impl Fn(i64) -> bool,
) -> sqlx::Result<i64> {
    let deadline = Instant::now() + ABANDONED_LIMIT;
    loop {
        let waiting: i64 = sqlx::query_scalar(
            // The table has the same number in every copy of the database.
            "SELECT count(*) FROM pg_locks JOIN pg_database ON pg_database.oid = database
             WHERE datname = current_database() AND relation = 'records'::regclass AND NOT granted",
        )
        .fetch_one(&mut **lock)
        .await?;
        if wanted(waiting) || Instant::now() > deadline {
            return Ok(waiting);
        }
        tokio::time::sleep(POLL).await;
    }
}
