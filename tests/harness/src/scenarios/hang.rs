//! The case *hang*, watched: a batch of sightings waits for its table, some reads come, and the table is free again.

use std::cell::Cell;
use std::fs;
use std::time::Duration;

use anyhow::Context as _;
use sqlx::postgres::PgConnection;
use sqlx::{Connection, Executor};

use super::outage::PATIENCE;
use super::reproduction::{QUIET, Reproduction};
use super::silence::{Answers, read, wait_for_waiting};
use super::stage::database_trouble;
use super::{Context, Place, Played, Scenario, When, stage};
use crate::build::Launch;
use crate::scenarios::ContractTest;
use crate::service::Settings;
use workshop_base::wait;
use workshop_requests::failure::Failure;
use workshop_requests::http::{Answer, Client};

pub use super::judged as test;

/// `DATABASE_TIMEOUT_MS`: longer than the table is locked.
const TIMEOUT: Duration = Duration::from_secs(8);
/// Two workers, so that it takes two requests to stop both. A machine with more cores has more of them.
const WORKERS: (&str, &str) = ("ROCKET_WORKERS", "2");
/// How many reads come while the batch waits: fewer than make a batch of their own, and more than there are workers.
const READS: usize = 8;
/// Far more reads than any batch has.
const MOST_READS: usize = 2000;
/// How soon the batch must be written when its table is free.
const WRITTEN_WITHIN: Duration = Duration::from_secs(5);
/// Names of worker threads begin like this: the kernel keeps 15 bytes of them.
const WORKER: &str = "rocket-worker";

pub static SCENARIO: Scenario = Scenario {
    of_the_contract: false,
    ..Scenario::new("hang", When::Waiting, 9, |place, tests| {
        Box::pin(play(place, tests))
    })
};

async fn play(place: &Place<'_>, tests: &[&ContractTest]) -> anyhow::Result<Played> {
    let (stage, hang) = watched(place, QUIET).await?;
    stage.judged(&hang, tests).await
}

/// The behavior of a service while a batch of sightings waited for its table, and afterwards.
#[derive(Debug)]
pub struct Hang {
    /// How many statements waited for the table.
    pub waiting: i64,
    /// Reads that were sent meanwhile.
    pub reads: Answers,
    /// `GET /health`, when the table was free again.
    pub health: Result<Answer, Failure>,
    /// How many sightings were in the table then.
    pub written: i64,
}

async fn watched(place: &Place<'_>, log_level: &str) -> anyhow::Result<(Context, Hang)> {
    let launch = on_two_workers(place.launch);
    let place = Place {
        launch: &launch,
        ..*place
    };
    let settings = Settings {
        log_level: log_level.to_owned(),
        ..stage::settings(TIMEOUT)
    };
    let stage = place.stage_with(settings).await?;
    let hang = Hang::watch(&stage).await;
    let hang = hang.map_err(|error| database_trouble(error.into()))?;
    Ok((stage, hang))
}

fn on_two_workers(launch: &Launch) -> Launch {
    let (name, value) = WORKERS;
    let mut launch = launch.clone();
    launch.env.push((name.to_owned(), value.to_owned()));
    launch
}

impl Hang {
    async fn watch(stage: &Context) -> sqlx::Result<Hang> {
        let client = &stage.client.within(PATIENCE);
        let database = &mut *stage.database.lock().await;
        let mut lock = database.begin().await?;
        lock.execute("LOCK TABLE sightings IN ACCESS EXCLUSIVE MODE")
            .await?;
        let step = Cell::new(BatchStep::Reading);
        let completing = complete_a_batch(client, &step);
        let ((), seen) = tokio::join!(completing, async {
            let mut waiting = wait_for_waiting(&mut lock, 1..).await;
            while matches!(waiting, Ok(0)) {
                // The last read may have begun a slow batch: it gets the whole limit, too.
                let is_last = step.get() != BatchStep::Reading;
                waiting = wait_for_waiting(&mut lock, 1..).await;
                if is_last {
                    break;
                }
            }
            step.set(BatchStep::Over);
            let reads = read(client, READS).await;
            let released = lock.rollback().await;
            waiting.and_then(|waiting| released.map(|()| (waiting, reads)))
        });
        let (waiting, reads) = seen?;
        let health = client.get("/health").await;
        let written = written(database, health.is_ok()).await?;
        Ok(Hang {
            waiting,
            reads,
            health,
            written,
        })
    }
}

/// The progress of the reads that complete a batch.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BatchStep {
    Reading,
    /// A read got no answer, or there were too many.
    Stuck,
    /// A batch is waiting.
    Over,
}

/// Reads one record again and again, until a batch of sightings is waiting.
async fn complete_a_batch(client: &Client, step: &Cell<BatchStep>) {
    for _ in 0..MOST_READS {
        if step.get() == BatchStep::Over {
            return;
        }
        if client.get("/read/1").await.is_err() {
            break;
        }
    }
    if step.get() == BatchStep::Reading {
        step.set(BatchStep::Stuck);
    }
}

/// How many sightings there are; if the service is alive, as soon as there are some.
async fn written(database: &mut PgConnection, is_alive: bool) -> sqlx::Result<i64> {
    let limit = if is_alive {
        WRITTEN_WITHIN
    } else {
        Duration::ZERO
    };
    let count = async || {
        let count = sqlx::query_scalar("SELECT count(*) FROM sightings");
        count.fetch_one(&mut *database).await
    };
    let are_some = |count: &sqlx::Result<i64>| !matches!(count, Ok(0));
    wait::last_within(limit, count, are_some).await
}

/// Plays the case, and leaves the service as it is then.
pub(super) async fn reproduce(place: &Place<'_>, log_level: &str) -> anyhow::Result<Reproduction> {
    let (stage, hang) = watched(place, log_level).await?;
    let answered = hang.reads.iter().filter(|read| read.is_ok()).count();
    let health = match &hang.health {
        Ok(answer) => format!("status {}", answer.status()),
        Err(_) => format!("no answer within {} s", PATIENCE.as_secs()),
    };
    let seen = vec![
        "the table sightings was locked, as by a backup, until a batch waited for it".to_owned(),
        format!("{READS} reads were sent meanwhile: {answered} of them answered"),
        format!("the table is free again since then; GET /health: {health}"),
    ];
    let evidence = evidence(&stage).await?;
    Ok(Reproduction {
        stage,
        seen,
        evidence,
    })
}

/// The sessions that have answered and wait for the service and, if the system shows them, its workers that wait for a lock.
async fn evidence(stage: &Context) -> anyhow::Result<Vec<String>> {
    let sessions = sqlx::query_scalar(
        "SELECT pid FROM pg_stat_activity
         WHERE datname = current_database() AND state = 'idle in transaction' AND wait_event = 'ClientRead'",
    );
    let sessions: Vec<i32> = sessions
        .fetch_all(&mut *stage.database.lock().await)
        .await
        .context("cannot ask for the sessions of the service")?;
    let mut all: Vec<String> = sessions.iter().map(i32::to_string).collect();
    all.extend(workers(stage.service.pid()));
    Ok(all)
}

/// The ids of a service's worker threads; empty if the system has no `/proc`.
fn workers(pid: u32) -> Vec<String> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task"));
    let tasks = tasks.into_iter().flatten().flatten();
    let workers = tasks.filter(|task| {
        let name = fs::read_to_string(task.path().join("comm"));
        name.is_ok_and(|name| name.starts_with(WORKER))
    });
    workers
        .map(|task| task.file_name().to_string_lossy().into_owned())
        .collect()
}
