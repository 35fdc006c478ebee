//! Releases that share a database, watched: one that starts when a later one has migrated, and one whose migration waits for a lock.

use std::collections::HashSet;
use std::time::Duration;

use sqlx::{Executor, PgConnection};

use super::first_start::{Creating, Hindered, Instance, SCHEMA, columns, settings};
use super::outage::RECOVERY_LIMIT;
use super::{Place, Played, Scenario, When, judge_all};
use crate::scenarios::ContractTest;
use crate::service::Settings;
use workshop_base::wait;
use workshop_postgres::datasets::RunDatabase;
use workshop_requests::failure::Failure;

pub use super::judged as test;

/// `MIGRATION_TIMEOUT_MS` of the instance that waits for a lock: longer than an attempt waits for it, and a test waits for both.
const MIGRATION_TIMEOUT: Duration = Duration::from_millis(1500);
/// How many attempts to migrate are watched: the second would wait behind what the first has left.
const ATTEMPTS: usize = 3;
/// The maximum time for these attempts.
const ATTEMPTS_LIMIT: Duration = Duration::from_secs(15);
/// The log's text about it, once.
pub const WAITS: &str = "wait for a lock";

/// The changes of a later release: a migration that the earlier one does not know, in the bookkeeping of services that
/// keep one, and one more column. It has also renamed a column that the earlier one needs.
const LATER_RELEASE: [&str; 3] = [
    "DO $$ BEGIN
         IF to_regclass('_sqlx_migrations') IS NOT NULL THEN
             INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time)
             VALUES (4711, 'of a later release', true, 'unknown', 0);
         END IF;
     END $$",
    "ALTER TABLE records ADD COLUMN note text",
    "ALTER TABLE records RENAME visited TO seen",
];

pub static SCENARIO: Scenario = Scenario::new("releases", When::Waiting, 5, |place, tests| {
    Box::pin(play(place, tests))
});

async fn play(place: &Place<'_>, tests: &[&ContractTest]) -> anyhow::Result<Played> {
    let (earlier, waiting) = tokio::join!(watch_earlier(place), watch_waiting(place));
    let ((earlier, column), (waiting, sessions, said)) = (earlier?, waiting?);
    let log = [&earlier, &waiting]
        .map(|instance| &*instance.log)
        .join("\n");
    let seen = Releases {
        earlier,
        column,
        waiting,
        sessions,
        said,
    };
    Ok(Played {
        statuses: judge_all(&seen, &log, tests).await?,
        leaving: Vec::new(),
    })
}

/// What was observed of these instances.
#[derive(Debug)]
pub struct Releases {
    /// The one that starts when a later release has migrated, hindered until the column that it needs is back.
    pub earlier: Hindered,
    /// The line in its log that names the column.
    pub column: Option<String>,
    /// The one whose migration waits for a lock.
    pub waiting: Hindered,
    /// The maximum number of sessions that this one had in the database at the same time to wait for it.
    pub sessions: usize,
    /// The number of lines in its log that say that it waits.
    pub said: usize,
}

async fn watch_earlier(place: &Place<'_>) -> anyhow::Result<(Hindered, Option<String>)> {
    let database = RunDatabase::empty(place.server).await?;
    let mut own = database.connect().await?;
    let first = Instance::start(place, settings(database.url())).await?;
    let _ = first.ready().await;
    first.stop().await;
    let columns = columns(&mut own).await?;
    let migrated = columns.starts_with(&SCHEMA.map(str::to_owned));
    let instance = if migrated {
        for statement in LATER_RELEASE {
            own.execute(statement).await?;
        }
        Instance::start(place, settings(database.url())).await?
    } else {
        let expected = "the table records, for a later release to change";
        Instance(Err(Failure::new(
            expected,
            format!("its columns: {columns:?}"),
        )))
    };
    let column = wait::within(RECOVERY_LIMIT, async || {
        let log = instance.log();
        let line = log.lines().find(|line| line.contains("visited"));
        line.map(str::to_owned)
    });
    let column = column.await;
    let meanwhile = instance.meanwhile().await;
    if migrated {
        own.execute("ALTER TABLE records RENAME seen TO visited")
            .await?;
    }
    Ok((instance.freed(meanwhile).await, column))
}

async fn watch_waiting(place: &Place<'_>) -> anyhow::Result<(Hindered, usize, usize)> {
    let database = RunDatabase::empty(place.server).await?;
    let (mut holder, mut watcher) = (database.connect().await?, database.connect().await?);
    let creating = Creating::begin(&mut holder).await?;
    let settings = Settings {
        migration_timeout: MIGRATION_TIMEOUT,
        ..settings(database.url())
    };
    let instance = Instance::start(place, settings).await?;
    let sessions = most_sessions(&mut watcher).await?;
    let meanwhile = instance.meanwhile().await;
    let said = instance
        .log()
        .lines()
        .filter(|line| line.contains(WAITS))
        .count();
    creating.transaction.rollback().await?;
    Ok((instance.freed(meanwhile).await, sessions, said))
}

/// The maximum number of sessions that waited for a lock at the same time, while so many attempts to migrate were seen.
async fn most_sessions(watcher: &mut PgConnection) -> sqlx::Result<usize> {
    let (mut seen, mut most) = (HashSet::new(), 0);
    let look = async || {
        let waiting = sqlx::query_scalar(
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
        );
        let waiting: Vec<i32> = waiting.fetch_all(&mut *watcher).await?;
        most = most.max(waiting.len());
        seen.extend(waiting);
        Ok(seen.len())
    };
    let all = |seen: &sqlx::Result<usize>| !matches!(seen, Ok(seen) if *seen < ATTEMPTS);
    wait::last_within(ATTEMPTS_LIMIT, look, all).await?;
    Ok(most)
}
