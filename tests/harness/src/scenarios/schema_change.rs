//! A schema that changes under a running service, watched: all connections of its pool have prepared their statements when a
//! later release changes the type of a column, and adds another column.

use std::cell::Cell;
use std::time::Duration;

use futures_util::future::join_all;
use sqlx::{Executor, PgConnection};

use super::outage::{RECOVERY_LIMIT, works};
use super::silence::{
    Answers, asking_during, lock_the_records, read_until_all_work, wait_for_waiting,
};
use super::{Context, Scenario, When};
use workshop_base::wait;
use workshop_requests::failure::Failure;
use workshop_requests::http::{Answer, Client};

pub use super::judged as test;

/// `DATABASE_TIMEOUT_MS`: long enough to wait for the change itself.
const TIMEOUT: Duration = Duration::from_secs(2);
/// How often each connection has seen a statement before: more often than a driver wants before it prepares one.
const TIMES: usize = 8;
/// The changes of later releases. No value is longer than its new type allows, and no release has to know the new column.
const CHANGES: [&str; 2] = [
    "ALTER TABLE records ALTER value TYPE varchar(64)",
    "ALTER TABLE records ADD COLUMN note text",
];
/// The change after those, when there are only visits.
const CHANGE_BACK: &str = "ALTER TABLE records ALTER value TYPE text";

pub static SCENARIO: Scenario = Scenario::new("schema_change", When::Waiting, 2, |place, tests| {
    Box::pin(place.watched(TIMEOUT, SchemaChange::watch, tests))
});

/// The behavior of a service while its schema changed.
#[derive(Debug)]
pub struct SchemaChange {
    /// Records, pages and `/ready`, asked for while the schema changed and right after that.
    pub reads: Answers,
    /// Visits at the same time.
    pub visits: Answers,
    /// Visits after one more change, one per connection: the first ones that all worked, or the last before the limit.
    pub visits_afterwards: Answers,
}

impl SchemaChange {
    async fn watch(stage: &Context) -> sqlx::Result<SchemaChange> {
        let (client, pool_size) = (&stage.client, stage.pool_size());
        let database = &mut *stage.database.lock().await;
        read_until_all_work(client, pool_size).await;
        for _ in 0..TIMES {
            on_all_connections(database, pool_size, async || record(client).await).await?;
            on_all_connections(database, pool_size, async || page(client).await).await?;
            on_all_connections(database, pool_size, async || visit(client).await).await?;
        }

        let visited = Cell::new(0);
        let visiting = async |_: usize| {
            let answer = visit(client).await;
            visited.set(visited.get() + 1);
            answer
        };
        let changing = async {
            for change in CHANGES {
                database.execute(change).await?;
                // As many as it takes to use every connection.
                let enough = visited.get() + 2 * pool_size;
                let so_many = async || (visited.get() >= enough).then_some(());
                wait::within(RECOVERY_LIMIT, so_many).await;
            }
            Ok::<(), sqlx::Error>(())
        };
        let reading = async |place: usize| match place % 3 {
            0 => client.get("/ready").await,
            1 => page(client).await,
            _ => record(client).await,
        };
        let visiting = asking_during(pool_size, visiting, changing);
        let ((changed, visits), reads) = asking_during(2 * pool_size, reading, visiting).await;
        changed?;

        // Without reads: their second attempt may have made a connection forget its statements.
        for _ in 0..TIMES {
            on_all_connections(database, pool_size, async || visit(client).await).await?;
        }
        database.execute(CHANGE_BACK).await?;
        let all_work = |answers: &Answers| answers.iter().all(works);
        let visits_at_once = async || at_once(pool_size, async || visit(client).await).await;
        Ok(SchemaChange {
            reads,
            visits,
            visits_afterwards: wait::last_within(RECOVERY_LIMIT, visits_at_once, all_work).await,
        })
    }
}

async fn record(client: &Client) -> Result<Answer, Failure> {
    client.get("/read/1").await
}

async fn page(client: &Client) -> Result<Answer, Failure> {
    client.get("/records?limit=10").await
}

async fn visit(client: &Client) -> Result<Answer, Failure> {
    client.post("/records/1/visit").await
}

async fn at_once(count: usize, ask: impl AsyncFn() -> Result<Answer, Failure>) -> Answers {
    join_all((0..count).map(|_| ask())).await
}

/// Makes each connection see a statement: as many requests as there are connections wait for the records at the same time.
async fn on_all_connections(
    database: &mut PgConnection,
    pool_size: usize,
    ask: impl AsyncFn() -> Result<Answer, Failure>,
) -> sqlx::Result<()> {
    let mut lock = lock_the_records(database).await?;
    let (_, waiting) = tokio::join!(at_once(pool_size, ask), async {
        let waiting = wait_for_waiting(&mut lock, pool_size as i64..).await;
        lock.rollback().await.and(waiting)
    });
    waiting.map(drop)
}
