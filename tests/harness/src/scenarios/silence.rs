//! A database that falls silent, watched: connections stay and new ones are accepted, but no answer comes. Then one that has
//! lost its connections without telling anybody.

use std::cell::Cell;
use std::ops::RangeBounds;
use std::time::Duration;

use futures_util::future::join_all;
use sqlx::postgres::PgConnection;
use sqlx::{Connection, Executor, Postgres, Transaction};

use super::outage::{RECOVERY_LIMIT, works};
use super::{Context, Scenario, When};
use workshop_base::wait;
use workshop_requests::failure::Failure;
use workshop_requests::http::{Answer, Client};

pub use super::judged as test;

/// How long the database may still work on a query whose client has given up.
const ABANDONED_LIMIT: Duration = Duration::from_secs(3);

/// `DATABASE_TIMEOUT_MS` of services that wait for it several times: no longer than opening a connection takes on a busy machine.
/// Shorter than a connection may be idle and still be lent without a ping.
pub const SHORT_TIMEOUT: Duration = Duration::from_millis(400);
/// The maximum time that an answer may take on these: the time limit for a connection, the one for the query, and what a slow machine
/// adds. An export has a limit for each part, and waits for many.
pub const ANSWER_LIMIT_IN_TROUBLE: Duration = Duration::from_millis(2 * 400 + 3000);

pub static SCENARIO: Scenario = Scenario::new("silence", When::Waiting, 2, |place, tests| {
    Box::pin(place.watched(SHORT_TIMEOUT, Silence::watch, tests))
});

/// The answers to reads that were sent at the same time: of the ids 1, 2, 3, …
pub type Answers = Vec<Result<Answer, Failure>>;

/// The behavior of a service while its database was silent, and afterwards.
#[derive(Debug)]
pub struct Silence {
    /// Reads before the silence.
    pub before: Answers,
    /// Reads whose queries were under way when the silence began.
    pub under_way: Answers,
    /// The number of their queries that the database still worked on after their limit.
    pub abandoned: i64,
    /// Reads that were sent during the silence.
    pub into_it: Answers,
    /// Reads after the silence: the first ones that all have a record, or else the last before the limit.
    pub after: Answers,
    /// Reads whose queries were under way when their connections were lost.
    pub when_lost: Answers,
    /// Reads after that loss, as in `after`.
    pub after_the_loss: Answers,
}

impl Silence {
    async fn watch(stage: &Context) -> sqlx::Result<Silence> {
        let client = &stage.client.within(ANSWER_LIMIT_IN_TROUBLE);
        let (proxy, pool_size) = (&stage.proxy, stage.pool_size());
        let database = &mut *stage.database.lock().await;
        let before = read_until_all_work(client, pool_size).await;

        let (under_way, mut lock) =
            read_under_way(client, database, pool_size, || proxy.stall()).await?;
        let abandoned = wait_for_waiting(&mut lock, ..=0).await?;
        lock.rollback().await?;
        let into_it = read(client, 2 * pool_size).await;
        proxy.resume();
        let after = read_until_all_work(client, pool_size).await;

        let (when_lost, lock) =
            read_under_way(client, database, pool_size, || proxy.lose()).await?;
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

/// Reads as many records as the pool has connections, and acts once all queries are under way: a lock holds them.
async fn read_under_way<'a>(
    client: &Client,
    database: &'a mut PgConnection,
    pool_size: usize,
    strike: impl Fn(),
) -> sqlx::Result<(Answers, Transaction<'a, Postgres>)> {
    let mut lock = lock_the_records(database).await?;
    let (answers, waiting) = tokio::join!(read(client, pool_size), async {
        let waiting = wait_for_waiting(&mut lock, pool_size as i64..).await;
        strike();
        waiting
    });
    waiting.map(|_| (answers, lock))
}

/// Reads this many records at the same time.
pub(super) async fn read(client: &Client, count: usize) -> Answers {
    let paths: Vec<String> = (1..=count).map(|id| format!("/read/{id}")).collect();
    client.get_all(&paths).await
}

/// Reads again until all of them have a record, at most until the limit.
pub(super) async fn read_until_all_work(client: &Client, count: usize) -> Answers {
    let all_work = |answers: &Answers| answers.iter().all(works);
    wait::last_within(RECOVERY_LIMIT, async || read(client, count).await, all_work).await
}

/// Makes this many clients send requests, again and again, until something has happened. The last answers come after it.
pub(super) async fn asking_during<T>(
    clients: usize,
    ask: impl AsyncFn(usize) -> Result<Answer, Failure>,
    event: impl Future<Output = T>,
) -> (T, Answers) {
    let has_happened = Cell::new(false);
    let asking = (0..clients).map(async |client| {
        let mut answers = Answers::new();
        while !has_happened.get() {
            answers.push(ask(client).await);
        }
        answers
    });
    let event = async {
        let result = event.await;
        has_happened.set(true);
        result
    };
    let (result, answers) = tokio::join!(event, join_all(asking));
    (result, answers.into_iter().flatten().collect())
}

/// Holds every query on the records until the transaction ends.
pub async fn lock_the_records(
    database: &mut PgConnection,
) -> sqlx::Result<Transaction<'_, Postgres>> {
    let mut transaction = database.begin().await?;
    transaction
        .execute("LOCK TABLE records IN ACCESS EXCLUSIVE MODE")
        .await?;
    Ok(transaction)
}

/// The number of the service's queries that wait for a lock: polls until this many do, at most until the limit. A service that locks in
/// another way is judged by its answers.
pub async fn wait_for_waiting(
    database: &mut PgConnection,
    wanted: impl RangeBounds<i64>,
) -> sqlx::Result<i64> {
    let waiting = async || {
        // Within a transaction PostgreSQL would show the same list again. In the same statement, where the list is empty, it might
        // never get to clearing it.
        sqlx::query("SELECT pg_stat_clear_snapshot()")
            .execute(&mut *database)
            .await?;
        let waiting = sqlx::query_scalar(
            "SELECT count(*) FROM pg_stat_activity
             WHERE datname = current_database() AND backend_type = 'client backend'
             AND wait_event_type = 'Lock'",
        );
        waiting.fetch_one(&mut *database).await
    };
    let is_so =
        |waiting: &sqlx::Result<i64>| !matches!(waiting, Ok(number) if !wanted.contains(number));
    wait::last_within(ABANDONED_LIMIT, waiting, is_so).await
}
