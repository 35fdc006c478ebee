//! Judging a service: it is started with its own database, the suites are run against it, it is stopped.
//!
//! Services are started side by side: one with a healthy database, one that lives through an outage, and, where a suite
//! looks at that, some that start with an empty database and one that has many records. So a test of one kind can disturb
//! none of another.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use sqlx::Connection;
use tokio::sync::Mutex;

use super::build::Launch;
use super::failure::{Failure, TestError};
use super::first_start::FirstStart;
use super::http::Client;
use super::outage::{Outage, settled};
use super::proxy::DatabaseProxy;
use super::report::{Report, Timings, Verdict};
use super::service::{Service, Settings, Stopped};
use crate::datasets::{DataSet, RunDatabase};
use crate::outcome::Trouble;
use crate::postgres::Server;
use crate::suites::{self, Context, ContractTest, Kind, Run, Suite, TestResult};
use crate::workspace::Workspace;

/// Few connections, so that a pool that is not kept to shows at once.
const POOL_SIZE: u16 = 4;
/// `DATABASE_TIMEOUT_MS` of the service with a healthy database: nothing should come near it.
const STEADY_TIMEOUT: Duration = Duration::from_secs(5);
/// `DATABASE_TIMEOUT_MS` of the service that lives through the outage: short, since a learner waits for it.
const OUTAGE_TIMEOUT: Duration = Duration::from_millis(400);
/// `DATABASE_TIMEOUT_MS` of the services that start with an empty database: the documented default.
const FIRST_START_TIMEOUT: Duration = Duration::from_secs(1);
/// `DATABASE_TIMEOUT_MS` of the service with many records: one of its tests waits for it.
const LARGE_TIMEOUT: Duration = Duration::from_millis(400);
/// `EXPORT_TIMEOUT_MS`: longer than the one above, so that the two can be told apart.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(1);
/// Adds records of 4 KiB each, 32 MiB in all: far more than sockets and buffers hold between a database and a client.
/// Stored they are small, since PostgreSQL compresses them.
const MANY_RECORDS: &str = "\
    INSERT INTO records (id, value, odd, divisible_by_3) \
    SELECT id, repeat(md5(id::text), 128), id % 2 = 1, id % 3 = 0 \
    FROM generate_series((SELECT max(id) + 1 FROM records), (SELECT max(id) + 8192 FROM records)) AS id";
/// More than one, so that "several configured keys" is tested.
const API_KEYS: [&str; 2] = ["valid_key", "another_valid_key"];
/// How many of the service's last log lines go with a failure.
const LOG_LINES: usize = 8;

/// Starts the service, runs these suites against it, stops it.
///
/// # Errors
/// When nothing can be said about the service: it does not start, or the environment is broken.
pub async fn judge(
    workspace: &Workspace,
    server: &Server,
    launch: &Launch,
    suite_names: &[&str],
) -> anyhow::Result<Report> {
    let suites = chosen(suite_names)?;
    let mut timings = Timings::default();

    let started = Instant::now();
    let database = RunDatabase::create(server, workspace, DataSet::Small).await?;
    let large = if suites.iter().any(has_large_tests) {
        Some(large_database(server, workspace).await?)
    } else {
        None
    };
    timings.add("database", started.elapsed());

    let large_url = large.as_ref().map(RunDatabase::url);
    let result = judge_on(
        workspace,
        server,
        launch,
        &suites,
        database.url(),
        large_url,
        &mut timings,
    )
    .await;
    let started = Instant::now();
    let removed = database.remove().await;
    let large_removed = match large {
        Some(large) => large.remove().await,
        None => Ok(()),
    };
    timings.add("database", started.elapsed());
    let mut report = result?;
    removed?;
    large_removed?;
    report.timings = timings;
    Ok(report)
}

fn has_large_tests(suite: &Suite) -> bool {
    suite
        .tests
        .iter()
        .any(|test| matches!(test.kind, Kind::Large(_)))
}

async fn large_database(server: &Server, workspace: &Workspace) -> anyhow::Result<RunDatabase> {
    let database = RunDatabase::create(server, workspace, DataSet::Small).await?;
    let mut connection = database.connect().await?;
    sqlx::query(MANY_RECORDS).execute(&mut connection).await?;
    Ok(database)
}

fn chosen(names: &[&str]) -> anyhow::Result<Vec<Suite>> {
    let mut all = suites::all();
    let mut chosen = Vec::new();
    for name in names {
        let position = all
            .iter()
            .position(|suite| suite.name == *name)
            .ok_or_else(|| {
                let known: Vec<&str> = suites::all().iter().map(|suite| suite.name).collect();
                Trouble::new(format!(
                    "an exercise.toml names the suite {name}, which there is not"
                ))
                .expected(format!("one of: {}", known.join(", ")))
                .next("git diff -- '*exercise.toml'")
            })?;
        chosen.push(all.remove(position));
    }
    Ok(chosen)
}

async fn judge_on(
    workspace: &Workspace,
    server: &Server,
    launch: &Launch,
    suites: &[Suite],
    database_url: &str,
    large_url: Option<&str>,
    timings: &mut Timings,
) -> anyhow::Result<Report> {
    let started = Instant::now();
    let steady = Stage::start(workspace, launch, database_url, STEADY_TIMEOUT);
    let outage = Stage::start(workspace, launch, database_url, OUTAGE_TIMEOUT);
    let large = async {
        match large_url {
            Some(url) => Stage::start(workspace, launch, url, LARGE_TIMEOUT)
                .await
                .map(Some),
            None => Ok(None),
        }
    };
    // All are awaited before one may fail, so that none is left behind half-started.
    let (steady, outage, large) = tokio::join!(steady, outage, large);
    let (mut steady, mut outage, mut large) = (steady?, outage?, large?);
    timings.add("service", started.elapsed());

    let started = Instant::now();
    let steady_tests = run_steady(&mut steady, suites);
    let watched = watch_outage(&mut outage);
    let first_start = watch_first_start(workspace, server, launch, suites);
    let large_tests = async {
        match &mut large {
            Some(large) => run_large(large, suites).await,
            None => Ok(Vec::new()),
        }
    };
    let (steady_verdicts, watched, first_start, large_verdicts) =
        tokio::join!(steady_tests, watched, first_start, large_tests);
    let (steady_verdicts, first_start, large_verdicts) =
        (steady_verdicts?, first_start?, large_verdicts?);
    let outage_log = outage.service.log_tail(LOG_LINES);
    timings.add("tests", started.elapsed());

    let mut report = Report::new(&launch.label);
    let mut steady_verdicts = steady_verdicts.into_iter();
    let mut large_verdicts = large_verdicts.into_iter();
    for suite in suites {
        for test in &suite.tests {
            let verdict = match &test.kind {
                Kind::Steady(_) => steady_verdicts.next().context("a test was not run")?,
                Kind::Large(_) => large_verdicts.next().context("a test was not run")?,
                Kind::Outage(judge) => verdict(judge(&watched), &outage_log)?,
                Kind::FirstStart(judge) => {
                    let watched = first_start.as_ref().context("no first start was watched")?;
                    verdict(judge(watched), &watched.log)?
                }
            };
            report.add(suite.name, test.name, verdict);
        }
    }

    let started = Instant::now();
    let large = async {
        match large {
            Some(large) => large.stop().await,
            None => Stopped::Already,
        }
    };
    let (steady, outage, large) = tokio::join!(steady.stop(), outage.stop(), large);
    report.hung_on_shutdown = [steady, outage, large].contains(&Stopped::Killed);
    timings.add("shutdown", started.elapsed());
    Ok(report)
}

fn verdict(result: TestResult, log: &str) -> anyhow::Result<Verdict> {
    match result {
        Ok(()) => Ok(Verdict::Passed),
        Err(TestError::Failed(failure)) => Ok(Verdict::Failed {
            failure,
            log: log.to_owned(),
        }),
        Err(TestError::CouldNotJudge(error)) => Err(error),
    }
}

/// A running service with everything that its tests need.
struct Stage {
    service: Service,
    context: Context,
}

impl Stage {
    async fn start(
        workspace: &Workspace,
        launch: &Launch,
        database_url: &str,
        timeout: Duration,
    ) -> anyhow::Result<Stage> {
        let database = sqlx::PgConnection::connect(database_url)
            .await
            .context("the database does not answer the tests")?;
        let proxy = DatabaseProxy::start(database_url).await?;
        let settings = settings(proxy.url(), timeout);
        let service = Service::start(workspace, launch, &settings)
            .await
            .map_err(|error| error.into_trouble())?;
        let client = Client::new(
            service.base_url(),
            settings.api_keys.first().map(String::as_str),
        )?;
        let database = Mutex::new(database);
        let context = Context {
            log: service.log().to_owned(),
            client,
            proxy,
            database,
            settings,
            rows: DataSet::Small.rows(),
        };
        Ok(Stage { service, context })
    }

    async fn stop(self) -> Stopped {
        // The client's idle connections go first: a graceful shutdown waits for connections.
        drop(self.context);
        self.service.stop().await
    }
}

fn settings(database_url: &str, timeout: Duration) -> Settings {
    Settings {
        pool_size: POOL_SIZE,
        timeout,
        export_timeout: EXPORT_TIMEOUT,
        api_keys: API_KEYS.map(str::to_owned).into(),
        ..Settings::new(database_url)
    }
}

async fn run_steady(stage: &mut Stage, suites: &[Suite]) -> anyhow::Result<Vec<Verdict>> {
    run_tests(stage, suites, |kind| match kind {
        Kind::Steady(run) => Some(*run),
        _ => None,
    })
    .await
}

async fn run_large(stage: &mut Stage, suites: &[Suite]) -> anyhow::Result<Vec<Verdict>> {
    run_tests(stage, suites, |kind| match kind {
        Kind::Large(run) => Some(*run),
        _ => None,
    })
    .await
}

/// Runs those tests on the stage that are `of_this_kind`, one after the other.
async fn run_tests(
    stage: &mut Stage,
    suites: &[Suite],
    of_this_kind: impl Fn(&Kind) -> Option<Run<Context>>,
) -> anyhow::Result<Vec<Verdict>> {
    let mut verdicts = Vec::new();
    // What it answers then, the tests will see.
    let _ = settled(&stage.context.client, "/ready").await;
    let tests = suites.iter().flat_map(|suite| &suite.tests);
    for test in tests {
        let Some(run) = of_this_kind(&test.kind) else {
            continue;
        };
        if stage.service.exited().is_some() {
            verdicts.push(gone(stage, test));
            continue;
        }
        let verdict = match run(&stage.context).await {
            Ok(()) => Verdict::Passed,
            Err(TestError::Failed(failure)) => Verdict::Failed {
                failure,
                log: stage.service.log_tail(LOG_LINES),
            },
            Err(TestError::CouldNotJudge(error)) => return Err(database_trouble(error)),
        };
        // A database that died in the middle would turn every test red: that is no verdict on the service.
        if matches!(verdict, Verdict::Failed { .. })
            && let Err(error) = stage.context.database.lock().await.ping().await
        {
            return Err(database_trouble(error.into()));
        }
        verdicts.push(verdict);
    }
    Ok(verdicts)
}

fn gone(stage: &Stage, test: &ContractTest) -> Verdict {
    let failure = Failure::new(
        "a service that keeps running",
        format!("it had ended before {}", test.name),
    );
    Verdict::Failed {
        failure,
        log: stage.service.log_tail(LOG_LINES),
    }
}

async fn watch_outage(stage: &mut Stage) -> Outage {
    Outage::watch(&stage.context.client, &stage.context.proxy).await
}

/// Watches first starts when a test of these suites looks at them.
async fn watch_first_start(
    workspace: &Workspace,
    server: &Server,
    launch: &Launch,
    suites: &[Suite],
) -> anyhow::Result<Option<FirstStart>> {
    let mut tests = suites.iter().flat_map(|suite| &suite.tests);
    if !tests.any(|test| matches!(test.kind, Kind::FirstStart(_))) {
        return Ok(None);
    }
    let settings = |database_url: &str| settings(database_url, FIRST_START_TIMEOUT);
    FirstStart::watch(workspace, server, launch, &settings)
        .await
        .map(Some)
}

fn database_trouble(error: anyhow::Error) -> anyhow::Error {
    error.context(
        Trouble::new(
            "the database went away while the tests ran: nothing can be said about the service",
        )
        .next("run the check again; just doctor if it happens again"),
    )
}
