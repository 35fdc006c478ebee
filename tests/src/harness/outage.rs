//! One outage, watched: the database is cut off, asked for, given back, and asked for until it answers again.

use std::time::Duration;

use tokio::time::Instant;

use super::failure::Failure;
use super::http::{Answer, Client};
use super::proxy::DatabaseProxy;

/// How soon after the database's return a service must work again.
pub const RECOVERY_LIMIT: Duration = Duration::from_secs(5);
/// Between two requests while waiting for the recovery.
const POLL: Duration = Duration::from_millis(20);

/// What a service answered, before, during and after an outage.
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
    pub async fn watch(client: &Client, proxy: &DatabaseProxy) -> Outage {
        let (ready_before, read_before) = tokio::join!(client.get("/ready"), client.get("/read/1"));
        proxy.cut().await;
        let (health_during, ready_during, read_during) = tokio::join!(
            client.get("/health"),
            client.get("/ready"),
            client.get("/read/1")
        );
        proxy.restore().await;
        let (ready_after, read_after) = tokio::join!(
            recovery(client, "/ready", &ready_before),
            recovery(client, "/read/1", &read_before)
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

/// Asks until the answer is 200. What did not work before the outage is asked once only: it has nothing to recover.
async fn recovery(
    client: &Client,
    path: &str,
    before: &Result<Answer, Failure>,
) -> Result<Answer, Failure> {
    let is_200 = |answer: &Result<Answer, Failure>| {
        answer.as_ref().is_ok_and(|answer| answer.status() == 200)
    };
    let deadline = Instant::now() + RECOVERY_LIMIT;
    loop {
        let answer = client.get(path).await;
        if is_200(&answer) || !is_200(before) || Instant::now() > deadline {
            return answer;
        }
        tokio::time::sleep(POLL).await;
    }
}
