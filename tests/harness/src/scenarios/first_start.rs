//! Instances of a service that start with an empty database, watched: one before its database is there, one whose migrations
//! fail at first, one whose connection goes silent while it migrates, two at the same time, and one more when they have worked with it.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use sqlx::{Connection, Executor, PgConnection, Postgres, Transaction};
use tokio::time::sleep;

use super::outage::{RECOVERY_LIMIT, ask_until, works};
use super::stage;
use super::{LOG_LINES, Place, Played, Scenario, When, judge_all};
use crate::scenarios::ContractTest;
use crate::service::proxy::DatabaseProxy;
use crate::service::{Service, Settings, StartError};
use workshop_base::wait;
use workshop_postgres::datasets::RunDatabase;
use workshop_requests::failure::Failure;
use workshop_requests::http::{Answer, Client};

pub use super::judged as test;

/// `DATABASE_TIMEOUT_MS`: the documented default.
const TIMEOUT: Duration = Duration::from_secs(1);
/// `MIGRATION_TIMEOUT_MS` of the instance whose connection goes silent: a test waits for it.
const MIGRATION_TIMEOUT: Duration = Duration::from_secs(1);
/// The maximum time for instances to come to their migrations. An attempt waits for a second at most, and then pauses.
const ALL_ARRIVE: Duration = Duration::from_secs(4);
/// The first columns of `records`, as [`Together::columns`] has them. A later release may add others.
pub const SCHEMA: [&str; 5] = [
    "id integer not null primary key",
    "value text not null",
    "odd boolean not null",
    "divisible_by_3 boolean not null",
    "visited boolean not null default false",
];
pub static SCENARIO: Scenario = Scenario::new("first_start", When::Waiting, 4, |place, tests| {
    Box::pin(play(place, tests))
});

async fn play(place: &Place<'_>, tests: &[&ContractTest]) -> anyhow::Result<Played> {
    let (alone, failing, silenced, together) = tokio::join!(
        watch_alone(place),
        watch_failing(place),
        watch_silenced(place),
        watch_together(place),
    );
    let (alone, (failing, logged), silenced, together) = (alone?, failing?, silenced?, together?);
    let instances = [&alone, &failing, &silenced, &together.instances[0]];
    let log = instances.map(|instance| &*instance.log).join("\n");
    let seen = FirstStart {
        alone,
        failing,
        logged,
        silenced,
        together,
    };
    Ok(Played {
        statuses: judge_all(&seen, &log, tests).await?,
        leaving: Vec::new(),
    })
}

/// What was observed of these instances.
#[derive(Debug)]
pub struct FirstStart {
    /// The instance that was started without a database.
    pub alone: Hindered,
    /// The instance whose migrations fail at first.
    pub failing: Hindered,
    /// The line in its log that names the table that could not be created.
    pub logged: Option<String>,
    /// The one whose connection goes silent while it migrates: its connection is lost without a word, and new ones work.
    pub silenced: Hindered,
    /// The two instances that were started at the same time.
    pub together: Together,
}

/// An instance that cannot migrate until an obstacle is gone.
#[derive(Debug)]
pub struct Hindered {
    /// `GET /health` before the obstacle was gone.
    pub health_meanwhile: Result<Answer, Failure>,
    /// `GET /ready` before the obstacle was gone.
    pub ready_meanwhile: Result<Answer, Failure>,
    /// `GET /ready` after the obstacle was gone: the first 200, or the last answer before the limit.
    pub ready: Result<Answer, Failure>,
    /// From then to that answer.
    pub took: Duration,
    /// The end of its log.
    pub(super) log: String,
}

/// Two instances that start at the same time.
#[derive(Debug)]
pub struct Together {
    /// How many of them were creating the table at the same time.
    pub creating_at_once: usize,
    /// Both instances, after they had waited for longer than `DATABASE_TIMEOUT_MS`.
    pub instances: [Hindered; 2],
    /// The columns of `records`, in their order; empty without such a table.
    pub columns: Vec<String>,
    /// `GET /read/1` of a third instance, which starts when the record 1 is there.
    pub read_by_the_next: Result<Answer, Failure>,
}

/// The settings of an instance with this database.
pub(super) fn settings(database_url: &str) -> Settings {
    Settings {
        database_url: database_url.to_owned(),
        ..stage::settings(TIMEOUT)
    }
}

/// An instance and a client for it; an instance that does not come up answers every request with the reason.
pub(super) struct Instance(pub(super) Result<(Service, Client), Failure>);

impl Instance {
    pub(super) async fn start(place: &Place<'_>, settings: Settings) -> anyhow::Result<Instance> {
        let service = match Service::start(place.workspace, place.launch, &settings).await {
            Ok(service) => service,
            Err(error) => {
                let error: StartError = error.downcast()?;
                let expected = "a service that starts while its database is not there, or is empty";
                return Ok(Instance(Err(Failure::new(expected, error.to_string()))));
            }
        };
        let key = settings.api_keys.first().map(String::as_str);
        let client = Client::new(service.base_url(), key)?;
        Ok(Instance(Ok((service, client))))
    }

    fn client(&self) -> Result<&Client, Failure> {
        let started = self.0.as_ref().map_err(Clone::clone);
        started.map(|(_, client)| client)
    }

    async fn get(&self, path: &str) -> Result<Answer, Failure> {
        self.client()?.get(path).await
    }

    /// Asks until it is ready, or the limit of a recovery is over.
    pub(super) async fn ready(&self) -> Result<Answer, Failure> {
        ask_until(self.client()?, "/ready", works).await
    }

    /// The end of its log.
    pub(super) fn log(&self) -> String {
        match &self.0 {
            Ok((service, _)) => service.log_tail(LOG_LINES),
            Err(failure) => failure.actual.clone(),
        }
    }

    /// Asks it before the obstacle is gone.
    pub(super) async fn meanwhile(&self) -> Meanwhile {
        tokio::join!(self.get("/health"), self.get("/ready"))
    }

    /// Asks it until it is ready, now that the obstacle is gone, and stops it.
    pub(super) async fn freed(self, (health_meanwhile, ready_meanwhile): Meanwhile) -> Hindered {
        let possible = Instant::now();
        let ready = self.ready().await;
        let took = possible.elapsed();
        Hindered {
            health_meanwhile,
            ready_meanwhile,
            ready,
            took,
            log: self.stop().await,
        }
    }

    /// Stops it, and returns the end of its log.
    pub(super) async fn stop(self) -> String {
        let log = self.log();
        if let Ok((service, client)) = self.0 {
            drop(client);
            service.stop().await;
        }
        log
    }
}

/// The answers of an instance to `/health` and to `/ready`.
pub(super) type Meanwhile = (Result<Answer, Failure>, Result<Answer, Failure>);

async fn watch_alone(place: &Place<'_>) -> anyhow::Result<Hindered> {
    let database = RunDatabase::empty(place.server).await?;
    let proxy = DatabaseProxy::start(database.url()).await?;
    proxy.cut().await;
    let instance = Instance::start(place, settings(proxy.url())).await?;
    let meanwhile = instance.meanwhile().await;
    proxy.restore().await;
    Ok(instance.freed(meanwhile).await)
}

async fn watch_failing(place: &Place<'_>) -> anyhow::Result<(Hindered, Option<String>)> {
    let database = RunDatabase::empty(place.server).await?;
    let mut own = database.connect().await?;
    // Each table has a type of its name, so there can be no other.
    own.execute("CREATE TYPE records AS ENUM ()").await?;
    let instance = Instance::start(place, settings(database.url())).await?;
    let logged = wait::within(RECOVERY_LIMIT, async || {
        let log = instance.log();
        let line = log.lines().find(|line| names_the_table(line));
        line.map(str::to_owned)
    });
    let logged = logged.await;
    let meanwhile = instance.meanwhile().await;
    own.execute("DROP TYPE records").await?;
    Ok((instance.freed(meanwhile).await, logged))
}

/// Whether `records` is in this line, in whatever quotes PostgreSQL's language has, and not as part of a path, a module or a package.
fn names_the_table(line: &str) -> bool {
    let mut found = line.match_indices("records");
    found.any(|(at, _)| !line[..at].ends_with(['/', ':', '.', '_']))
}

async fn watch_silenced(place: &Place<'_>) -> anyhow::Result<Hindered> {
    let database = RunDatabase::empty(place.server).await?;
    let proxy = DatabaseProxy::start(database.url()).await?;
    let (mut holder, mut watcher) = (database.connect().await?, database.connect().await?);
    let creating = Creating::begin(&mut holder).await?;
    let settings = Settings {
        migration_timeout: MIGRATION_TIMEOUT,
        ..settings(proxy.url())
    };
    let instance = Instance::start(place, settings).await?;
    creating.waiting(&mut watcher, 1).await?;
    proxy.lose();
    let meanwhile = instance.meanwhile().await;
    creating.transaction.rollback().await?;
    Ok(instance.freed(meanwhile).await)
}

async fn watch_together(place: &Place<'_>) -> anyhow::Result<Together> {
    let database = RunDatabase::empty(place.server).await?;
    let (mut holder, mut watcher) = (database.connect().await?, database.connect().await?);
    let creating = Creating::begin(&mut holder).await?;
    let (one, other) = tokio::join!(
        Instance::start(place, settings(database.url())),
        Instance::start(place, settings(database.url()))
    );
    let (one, other) = (one?, other?);
    let creating_at_once = creating.waiting(&mut watcher, 2).await?;
    // No request may wait this long, but a migration may.
    sleep(TIMEOUT).await;
    let (one_meanwhile, other_meanwhile) = (one.meanwhile().await, other.meanwhile().await);
    creating.transaction.rollback().await?;
    let (one, other) = tokio::join!(one.freed(one_meanwhile), other.freed(other_meanwhile));
    let columns = columns(&mut watcher).await?;
    let read_by_the_next = read_by_the_next(place, &database, &mut watcher, &columns).await?;
    Ok(Together {
        creating_at_once,
        instances: [one, other],
        columns,
        read_by_the_next,
    })
}

/// A table `records` that is not committed yet: another session that creates it has to wait.
pub(super) struct Creating<'c> {
    pub(super) transaction: Transaction<'c, Postgres>,
    pid: i32,
}

impl<'c> Creating<'c> {
    pub(super) async fn begin(holder: &'c mut PgConnection) -> sqlx::Result<Self> {
        let mut transaction = holder.begin().await?;
        transaction.execute("CREATE TABLE records (id int)").await?;
        let pid = sqlx::query_scalar("SELECT pg_backend_pid()")
            .fetch_one(&mut *transaction)
            .await?;
        Ok(Creating { transaction, pid })
    }

    /// The maximum number of sessions that waited for the table at the same time, until all instances waited for something, or had the
    /// time for it.
    async fn waiting(&self, watcher: &mut PgConnection, instances: usize) -> anyhow::Result<usize> {
        let mut most = 0;
        let look = async || {
            let waiting = sqlx::query_scalar(
                "SELECT $1 = ANY (pg_blocking_pids(pid)) FROM pg_stat_activity
                 WHERE datname = current_database() AND wait_event_type = 'Lock'",
            );
            let waiting: Vec<bool> = waiting.bind(self.pid).fetch_all(&mut *watcher).await?;
            most = most.max(waiting.iter().filter(|for_this| **for_this).count());
            Ok(waiting.len())
        };
        let all =
            |waiting: &sqlx::Result<usize>| !matches!(waiting, Ok(waiting) if *waiting < instances);
        let waiting = wait::last_within(ALL_ARRIVE, look, all).await;
        waiting.context("cannot see which session waits for which")?;
        Ok(most)
    }
}

pub(super) async fn columns(watcher: &mut PgConnection) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar(
        "SELECT concat_ws(' ', attribute.attname, format_type(atttypid, atttypmod),
                    CASE WHEN attnotnull THEN 'not null' END,
                    CASE WHEN attnum = ANY (indkey) THEN 'primary key' END,
                    'default ' || pg_get_expr(adbin, adrelid))
         FROM pg_attribute AS attribute
         LEFT JOIN pg_index ON indrelid = attrelid AND indisprimary
         LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
         WHERE attrelid = to_regclass('records') AND attnum > 0 AND NOT attisdropped
         ORDER BY attnum",
    )
    .fetch_all(watcher)
    .await
}

/// Adds the record 1, starts a third instance, and reads the record from it.
async fn read_by_the_next(
    place: &Place<'_>,
    database: &RunDatabase,
    watcher: &mut PgConnection,
    columns: &[String],
) -> anyhow::Result<Result<Answer, Failure>> {
    if !columns.starts_with(&SCHEMA.map(str::to_owned)) {
        return Ok(Err(Failure::new(
            "the table records, to add a record to",
            format!("its columns: {columns:?}"),
        )));
    }
    let record = "INSERT INTO records (id, value, odd, divisible_by_3, visited)
         VALUES (1, 'kept', true, false, true)";
    watcher.execute(record).await?;
    let instance = Instance::start(place, settings(database.url())).await?;
    let read = async {
        instance.ready().await?;
        instance.get("/read/1").await
    };
    let read = read.await;
    instance.stop().await;
    Ok(read)
}
