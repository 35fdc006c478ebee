//! A network that falls silent again and again while clients send requests: each time the open connections are lost silently,
//! and new ones work.

use std::cell::Cell;
use std::time::{Duration, Instant};

use sqlx::PgConnection;
use workshop_base::wait;

use super::outage::works;
use super::silence::{
    ANSWER_LIMIT_IN_TROUBLE, Answers, SHORT_TIMEOUT, asking_during, lock_the_records, read,
    read_until_all_work, wait_for_waiting,
};
use super::{Context, Scenario, When};
use workshop_requests::http::{Body, Client};

pub use super::judged as test;

/// The number of silences: more than the pool has connections.
const SILENCES: usize = 6;
/// The maximum time until everything works again after a silence: a pool that has lost a slot for good never gets there.
pub const RECOVERY_LIMIT: Duration = Duration::from_secs(8);
/// The maximum time for a service to close abandoned connections.
const RELEASE_LIMIT: Duration = Duration::from_secs(5);
/// The requests besides reads.
const OTHER_PATHS: [&str; 3] = ["/ready", "/records?limit=10", "/records/export"];

pub static SCENARIO: Scenario = Scenario::new("silences", When::Waiting, 3, |place, tests| {
    Box::pin(place.watched(SHORT_TIMEOUT, Silences::watch, tests))
});

/// The behavior of a service while its connections fell silent again and again, and afterwards.
#[derive(Debug)]
pub struct Silences {
    /// All answers under load.
    pub under_load: Answers,
    /// One answer per kind of call, once all of them worked after the last silence, or at the limit.
    pub afterwards: Answers,
    /// Whether a query per connection of the pool was under way at the same time after the last silence.
    pub whole_pool: bool,
    /// How many connections the service may have.
    pub pool_size: usize,
    /// The connections to the database that were open in the end.
    pub connections: usize,
    /// The maximum number that were open at the same time.
    pub most_connections: usize,
}

impl Silences {
    async fn watch(stage: &Context) -> sqlx::Result<Silences> {
        let client = stage.client.within(ANSWER_LIMIT_IN_TROUBLE);
        let (proxy, pool_size) = (&stage.proxy, stage.pool_size());
        // It has been running for a while: its migrations have run, and its pool is full.
        read_until_all_work(&client, pool_size).await;

        let worked = Cell::new(0);
        let asking = async |place: usize| {
            let path = match OTHER_PATHS.get(place) {
                Some(path) => (*path).to_owned(),
                None => format!("/read/{place}"),
            };
            let answer = client.get(&path).await;
            worked.set(worked.get() + usize::from(works(&answer)));
            answer
        };
        let (last, under_load) = asking_during(2 * pool_size, asking, async {
            let mut last = Instant::now();
            for _ in 0..SILENCES {
                proxy.lose();
                last = Instant::now();
                let wanted = worked.get() + 2 * pool_size;
                let comes_back = async || (worked.get() >= wanted).then_some(());
                if wait::within(RECOVERY_LIMIT, comes_back).await.is_none() {
                    break;
                }
            }
            last
        })
        .await;

        let left = || RECOVERY_LIMIT.saturating_sub(last.elapsed());
        let all_work = |answers: &Answers| answers.iter().all(works);
        let every_call = async || every_call(&client, pool_size).await;
        let afterwards = wait::last_within(left(), every_call, all_work).await;
        let mut database = stage.database.lock().await;
        let at_once = async || queries_at_once(&client, &mut database, pool_size).await;
        let whole = |at_once: &sqlx::Result<bool>| !matches!(at_once, Ok(false));
        let whole_pool = wait::last_within(left(), at_once, whole).await?;
        let released = async || (proxy.open() <= pool_size).then_some(());
        wait::within(RELEASE_LIMIT, released).await;
        Ok(Silences {
            under_load,
            afterwards,
            whole_pool,
            pool_size,
            connections: proxy.open(),
            most_connections: proxy.most_open(),
        })
    }
}

/// One request of each kind that needs the database, and as many reads as there are connections.
async fn every_call(client: &Client, pool_size: usize) -> Answers {
    let (mut answers, others, visits, visit) = tokio::join!(
        read(client, pool_size),
        client.get_all(&OTHER_PATHS),
        client.post_body("/visits", Body::json(r#"{"ids":[1,2]}"#)),
        client.post("/records/1/visit")
    );
    answers.extend(others);
    answers.extend([visits, visit]);
    answers
}

/// Whether as many queries as the pool has connections are under way at the same time, when the records are locked.
async fn queries_at_once(
    client: &Client,
    database: &mut PgConnection,
    pool_size: usize,
) -> sqlx::Result<bool> {
    let all = pool_size as i64;
    let mut lock = lock_the_records(database).await?;
    let (_, waiting) = tokio::join!(read(client, pool_size), wait_for_waiting(&mut lock, all..));
    lock.rollback().await?;
    Ok(waiting? == all)
}
