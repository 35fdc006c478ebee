//! One outage, watched: the database is cut off, asked for, given back, and asked for until it answers again.

use std::time::Duration;

use super::{Place, Played, Scenario, When};
use crate::scenarios::ContractTest;
use crate::service::proxy::DatabaseProxy;
use workshop_base::wait;
use workshop_requests::failure::Failure;
use workshop_requests::http::{Answer, Client};

pub use super::judged as test;

/// How soon after the database's return a service must work again.
pub const RECOVERY_LIMIT: Duration = Duration::from_secs(5);

/// The maximum time that an answer may take while the database is gone: far more than `DATABASE_TIMEOUT_MS`, far less than forever.
pub const PATIENCE: Duration = Duration::from_secs(3);

/// `DATABASE_TIMEOUT_MS`: short, since a learner waits for it.
const TIMEOUT: Duration = Duration::from_millis(400);

pub static SCENARIO: Scenario = Scenario::new("outage", When::Brief, 1, |place, tests| {
    Box::pin(play(place, tests))
});

async fn play(place: &Place<'_>, tests: &[&ContractTest]) -> anyhow::Result<Played> {
    let stage = place.stage(TIMEOUT).await?;
    let outage = Outage::watch(&stage.client, &stage.proxy).await;
    stage.judged(&outage, tests).await
}

/// The answers of a service before, during and after an outage.
#[derive(Debug)]
pub struct Outage {
    /// `GET /health` while the database was gone.
    pub health_during: Result<Answer, Failure>,
    /// `GET /ready` while the database was gone.
    pub ready_during: Result<Answer, Failure>,
    /// `GET /read/1` while the database was gone.
    pub read_during: Result<Answer, Failure>,
    /// `GET /ready` after the database was back: the first 200, or the last answer before the limit.
    pub ready_after: Result<Answer, Failure>,
    /// `GET /read/1` after the database was back: the first 200, or the last answer before the limit.
    pub read_after: Result<Answer, Failure>,
}

impl Outage {
    /// Makes an outage and watches it. The service has used the database before, as it would have in production.
    async fn watch(client: &Client, proxy: &DatabaseProxy) -> Outage {
        let (ready_before, read_before) =
            tokio::join!(settled(client, "/ready"), settled(client, "/read/1"));
        proxy.cut().await;
        let (health_during, ready_during, read_during) = tokio::join!(
            client.get("/health"),
            client.get("/ready"),
            client.get("/read/1")
        );
        proxy.restore().await;
        let (ready_after, read_after) = tokio::join!(
            recovered(client, "/ready", &ready_before),
            recovered(client, "/read/1", &read_before)
        );
        Outage {
            health_during,
            ready_during,
            read_during,
            ready_after,
            read_after,
        }
    }
}

/// The answer of a service that has been started a moment ago: it may still be migrating, and a cold JVM may need longer for
/// its first connection than a request may wait for one.
pub async fn settled(client: &Client, path: &str) -> Result<Answer, Failure> {
    ask_until(client, path, |answer| !has_status(answer, 503)).await
}

/// The answer after the outage. What did not work before it is asked once only: it has nothing to recover.
async fn recovered(
    client: &Client,
    path: &str,
    before: &Result<Answer, Failure>,
) -> Result<Answer, Failure> {
    let worked_before = works(before);
    ask_until(client, path, |answer| !worked_before || works(answer)).await
}

/// The contract's answer if the database is needed and does not answer.
pub fn expect_no_database(answer: &Answer) -> Result<&Answer, Failure> {
    answer.expect_problem(503, "the database does not answer")
}

pub(super) fn works(answer: &Result<Answer, Failure>) -> bool {
    has_status(answer, 200)
}

fn has_status(answer: &Result<Answer, Failure>, status: u16) -> bool {
    answer
        .as_ref()
        .is_ok_and(|answer| answer.status() == status)
}

/// Asks until the answer is of that kind, at most until the limit.
pub(super) async fn ask_until(
    client: &Client,
    path: &str,
    is_so: impl Fn(&Result<Answer, Failure>) -> bool,
) -> Result<Answer, Failure> {
    wait::last_within(RECOVERY_LIMIT, async || client.get(path).await, is_so).await
}
