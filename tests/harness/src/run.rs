//! Judging a service: it is started with its own database, the tests of a phase are run against it, it is stopped.
//!
//! Several services are started side by side, each with a database of its own: one that is left in peace, one for each way of
//! taking the database away that the tests ask for, and, where a test looks at that, some that start with an empty database,
//! one that has many records, one that logs as much as it can, and two that are told to stop. So no test can disturb another.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use sqlx::Connection;
use tokio::sync::Mutex;

use crate::build::Launch;
use crate::contract::Context;
use crate::contract::ContractTest;
use crate::contract::Kind;
use crate::contract::Run;
use crate::contract::Suite;
use crate::contract::TestResult;
use crate::failure::Failure;
use crate::failure::TestError;
use crate::first_start::FirstStart;
use crate::http::Client;
use crate::outage::Outage;
use crate::outage::settled;
use crate::plan;
use crate::plan::Phase;
use crate::proxy::DatabaseProxy;
use crate::report::Report;
use crate::report::Timings;
use crate::report::Verdict;
use crate::restart::Power;
use crate::restart::Restart;
use crate::service::Service;
use crate::service::Settings;
use crate::service::Stopped;
use crate::short_runs::ShortRuns;
use crate::shutdown::Busy;
use crate::shutdown::Held;
use crate::shutdown::Shutdown;
use crate::silence::Silence;
use crate::workbench::Workbench;
use workshop_base::outcome::Trouble;
use workshop_base::workspace::Workspace;
use workshop_postgres::Server;
use workshop_postgres::Spare;
use workshop_postgres::datasets::DataSet;
use workshop_postgres::datasets::RunDatabase;

/// Few connections, so that a pool that is not kept to shows at once.
const POOL_SIZE: u16 = 4;
/// `DATABASE_TIMEOUT_MS` of the service with a healthy database: nothing should come near it. A service may take twice as long to
/// stop, and has ten seconds for that.
const STEADY_TIMEOUT: Duration = Duration::from_secs(3);
/// `DATABASE_TIMEOUT_MS` of the service that lives through the outage: short, since a learner waits for it.
const OUTAGE_TIMEOUT: Duration = Duration::from_millis(400);
/// `DATABASE_TIMEOUT_MS` of the services that start with an empty database: the documented default.
const FIRST_START_TIMEOUT: Duration = Duration::from_secs(1);
/// `DATABASE_TIMEOUT_MS` of the services with many records: one of their tests waits for it, and each of their exports opens a
/// connection and comes to its first record in that time, on a slow machine too.
const LARGE_TIMEOUT: Duration = Duration::from_millis(1200);
/// `EXPORT_TIMEOUT_MS`: longer than the one above, so that the two can be told apart on a slow machine too.
const EXPORT_TIMEOUT: Duration = Duration::from_millis(3500);
/// Adds records of 4 KiB each, 64 MiB in all: more than sockets and buffers hold between a database and a client, Docker's own
/// proxy included, which takes up to 36 MiB ahead. Stored they are small, since PostgreSQL compresses them.
pub const MANY_RECORDS: &str = "\
    INSERT INTO records (id, value, odd, divisible_by_3) \
    SELECT id, repeat(md5(id::text), 128), id % 2 = 1, id % 3 = 0 \
    FROM generate_series((SELECT max(id) + 1 FROM records), (SELECT max(id) + 16384 FROM records)) AS id";
/// `DATABASE_TIMEOUT_MS` of the services that wait for it several times: the shortest that the contract allows.
const SHORT_TIMEOUT: Duration = Duration::from_millis(250);
/// The longest that an answer may take on these: the time limit for a connection, the one for the query, and what a slow machine
/// adds.
const ANSWER_LIMIT_IN_TROUBLE: Duration = Duration::from_millis(2 * 250 + 1000);
/// `DATABASE_TIMEOUT_MS` of the service that is told to stop while queries are under way: longer than these are held, and what a
/// slow machine adds. Rocket takes twice as long to stop, whenever its last request has ended.
const BUSY_TIMEOUT: Duration = Duration::from_secs(3);
/// More than one, so that "several configured keys" is tested.
const API_KEYS: [&str; 2] = ["valid_key", "another_valid_key"];
/// How many of the service's last log lines go with a failure.
const LOG_LINES: usize = 8;

/// Judges a target by these suites, phase by phase.
///
/// # Errors
/// When nothing can be said about the service: it does not start, or the environment is broken.
pub async fn judge(
    workspace: &Workspace,
    server: &Server,
    launch: &Launch,
    all: Vec<Suite>,
    suite_names: &[&str],
) -> anyhow::Result<Report> {
    let mut report = Report::new(&launch.label);
    for phase in plan::phases(all, suite_names, suite_names)? {
        report = report.and(judge_phase(workspace, server, launch, &phase).await?);
    }
    Ok(report)
}

/// Judges a target by the tests of one phase. A test that rests on time limits can be red on a machine that is busy with
/// something else: where no other test is red, those are judged a second time, alone. The report says so.
///
/// # Errors
/// As [`judge`].
pub async fn judge_phase(
    workspace: &Workspace,
    server: &Server,
    launch: &Launch,
    phase: &Phase,
) -> anyhow::Result<Report> {
    let report = judge_once(workspace, server, launch, phase).await?;
    let failed = report.failed();
    let mut tests = phase.tests();
    let sure = tests.any(|test| {
        matches!(test.kind, Kind::Steady(_) | Kind::Talkative(_))
            && failed.iter().any(|failed| failed == test.name)
    });
    match phase.some(&failed) {
        Some(red) if !sure => {
            let again = judge_once(workspace, server, launch, &red).await?;
            Ok(report.judged_again(again))
        }
        _ => Ok(report),
    }
}

/// Starts the services that the phase needs, runs its tests against them, stops them.
///
/// # Errors
/// As [`judge`].
pub async fn judge_once(
    workspace: &Workspace,
    server: &Server,
    launch: &Launch,
    phase: &Phase,
) -> anyhow::Result<Report> {
    let suites = phase.suites.as_slice();
    let wants = |of_kind: fn(&Kind) -> bool| {
        let mut tests = suites.iter().flat_map(|suite| &suite.tests);
        tests.any(|test| of_kind(&test.kind))
    };
    let mut timings = Timings::default();

    let started = Instant::now();
    let stage = |timeout| Stage::start(workspace, launch, server, timeout);
    // All are awaited before any may fail, so that none is left behind half-started.
    let (steady, outage, silence, restart, large, talkative, stopping) = tokio::join!(
        when(
            wants(|kind| { matches!(kind, Kind::Steady(_) | Kind::ShortRuns(_) | Kind::Own(_)) }),
            stage(STEADY_TIMEOUT)
        ),
        when(
            wants(|kind| matches!(kind, Kind::Outage(_))),
            stage(OUTAGE_TIMEOUT)
        ),
        when(
            wants(|kind| matches!(kind, Kind::Silence(_))),
            stage(SHORT_TIMEOUT)
        ),
        when(
            wants(|kind| matches!(kind, Kind::Restart(_))),
            RestartStage::start(workspace, launch, server)
        ),
        when(
            wants(|kind| matches!(kind, Kind::Large(_))),
            large_stage(workspace, launch, server, LARGE_TIMEOUT)
        ),
        when(
            wants(|kind| matches!(kind, Kind::Talkative(_))),
            talkative_stage(workspace, launch, server)
        ),
        when(
            wants(|kind| matches!(kind, Kind::Shutdown(_))),
            ShutdownStages::start(workspace, launch, server)
        ),
    );
    let (mut steady, outage) = (steady.transpose()?, outage.transpose()?);
    let (silence, restart) = (silence.transpose()?, restart.transpose()?);
    let (mut large, mut talkative) = (large.transpose()?, talkative.transpose()?);
    let mut stopping = stopping.transpose()?;
    timings.add("start", started.elapsed());

    let started = Instant::now();
    let first_start_settings = |database_url: &str| settings(database_url, FIRST_START_TIMEOUT);
    let (
        verdicts,
        outage_seen,
        silence_seen,
        restart_seen,
        first_start_seen,
        large_verdicts,
        talkative_verdicts,
        shutdown_seen,
    ) = tokio::join!(
        async {
            match &mut steady {
                Some(stage) => run_steady(stage, suites).await,
                None => Ok(Vec::new()),
            }
        },
        async {
            match &outage {
                Some(stage) => {
                    Some(Outage::watch(&stage.context.client, &stage.context.proxy).await)
                }
                None => None,
            }
        },
        async {
            match &silence {
                Some(stage) => Some(watch_silence(stage).await),
                None => None,
            }
        },
        async {
            match &restart {
                Some(stage) => Some(stage.watch().await),
                None => None,
            }
        },
        when(
            wants(|kind| matches!(kind, Kind::FirstStart(_))),
            FirstStart::watch(workspace, server, launch, &first_start_settings)
        ),
        async {
            match &mut large {
                Some(stage) => run_large(stage, suites).await,
                None => Ok(Vec::new()),
            }
        },
        async {
            match &mut talkative {
                Some(stage) => run_talkative(stage, suites).await,
                None => Ok(Vec::new()),
            }
        },
        async {
            match &mut stopping {
                Some(stages) => Some(stages.watch().await),
                None => None,
            }
        },
    );
    // Alone, since a JVM that starts ten times would take the processor from services that are being timed.
    let short_runs_seen = match &steady {
        Some(stage) if wants(|kind| matches!(kind, Kind::ShortRuns(_))) => {
            let settings = &stage.context.settings;
            Some(ShortRuns::watch(workspace, launch, settings, &stage.service).await)
        }
        _ => None,
    };
    timings.add("tests", started.elapsed());

    let seen = Seen {
        outage: outage_seen.zip(outage.as_ref().map(Stage::log_tail)),
        silence: silence_seen
            .transpose()?
            .zip(silence.as_ref().map(Stage::log_tail)),
        restart: restart_seen
            .transpose()?
            .zip(restart.as_ref().map(|restart| restart.stage.log_tail())),
        first_start: first_start_seen.transpose()?,
        shutdown: shutdown_seen
            .transpose()?
            .zip(stopping.as_ref().map(ShutdownStages::log_tail)),
        short_runs: short_runs_seen.transpose()?,
    };
    let started = Instant::now();
    let bench = steady
        .as_ref()
        .map(|stage| Workbench::new(workspace, launch, stage.database.url()))
        .transpose()?;
    let mut report = Report::new(&launch.label);
    let mut steady_verdicts = verdicts?.into_iter();
    let mut large_verdicts = large_verdicts?.into_iter();
    let mut talkative_verdicts = talkative_verdicts?.into_iter();
    for suite in suites {
        for test in &suite.tests {
            let run = match test.kind {
                Kind::Large(_) => &mut large_verdicts,
                Kind::Talkative(_) => &mut talkative_verdicts,
                _ => &mut steady_verdicts,
            };
            let verdict = match (seen.judge(&test.kind), &test.kind) {
                (Some(verdict), _) => verdict?,
                (None, Kind::Own(run)) => {
                    let bench = bench.as_ref().context("a test has no workbench")?;
                    let result = run(bench).await;
                    verdict(result, &bench.log_tail(LOG_LINES))?
                }
                (None, _) => run.next().context("a test was not run")?,
            };
            report.add(suite.name, test.name, verdict);
        }
    }
    timings.add("tests", started.elapsed());

    let started = Instant::now();
    let (steady, outage, silence, restart, large, talkative, stopping) = tokio::join!(
        stop(steady, Stage::stop),
        stop(outage, Stage::stop),
        stop(silence, Stage::stop),
        stop(restart, RestartStage::stop),
        stop(large, Stage::stop),
        stop(talkative, Stage::stop),
        stop(stopping, ShutdownStages::stop),
    );
    let stopped = [
        steady?, outage?, silence?, restart?, large?, talkative?, stopping?,
    ];
    report.hung_on_shutdown = stopped.contains(&Some(Stopped::Killed));
    timings.add("stop", started.elapsed());
    report.timings = timings;
    Ok(report)
}

async fn when<T>(wanted: bool, future: impl Future<Output = T>) -> Option<T> {
    if wanted { Some(future.await) } else { None }
}

async fn stop<T>(
    stage: Option<T>,
    stop: impl AsyncFnOnce(T) -> anyhow::Result<Stopped>,
) -> anyhow::Result<Option<Stopped>> {
    match stage {
        Some(stage) => stop(stage).await.map(Some),
        None => Ok(None),
    }
}

/// What was observed of each trouble, with the end of the log of the service that went through it.
struct Seen {
    outage: Option<(Outage, String)>,
    silence: Option<(Silence, String)>,
    restart: Option<(Restart, String)>,
    first_start: Option<FirstStart>,
    shutdown: Option<(Shutdown, String)>,
    short_runs: Option<ShortRuns>,
}

impl Seen {
    /// The verdict of a test that judges an observation; none for a test that is run.
    fn judge(&self, kind: &Kind) -> Option<anyhow::Result<Verdict>> {
        let (result, log) = match kind {
            Kind::Steady(_) | Kind::Large(_) | Kind::Talkative(_) | Kind::Own(_) => return None,
            Kind::Outage(judge) => {
                let (outage, log) = self.outage.as_ref()?;
                (judge(outage), log)
            }
            Kind::Silence(judge) => {
                let (silence, log) = self.silence.as_ref()?;
                (judge(silence), log)
            }
            Kind::Restart(judge) => {
                let (restart, log) = self.restart.as_ref()?;
                (judge(restart), log)
            }
            Kind::FirstStart(judge) => {
                let watched = self.first_start.as_ref()?;
                (judge(watched), &watched.log)
            }
            Kind::Shutdown(judge) => {
                let (shutdown, log) = self.shutdown.as_ref()?;
                (judge(shutdown), log)
            }
            // A failure shows what such a run has written: it has no log beside that.
            Kind::ShortRuns(judge) => (judge(self.short_runs.as_ref()?), &String::new()),
        };
        Some(verdict(result, log))
    }
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
    database: RunDatabase,
}

impl Stage {
    async fn start(
        workspace: &Workspace,
        launch: &Launch,
        server: &Server,
        timeout: Duration,
    ) -> anyhow::Result<Stage> {
        let settings = |database_url: &str| settings(database_url, timeout);
        Stage::start_with(workspace, launch, server, settings).await
    }

    async fn start_with(
        workspace: &Workspace,
        launch: &Launch,
        server: &Server,
        settings: impl Fn(&str) -> Settings,
    ) -> anyhow::Result<Stage> {
        let database = RunDatabase::create(server, workspace, DataSet::Small).await?;
        let connection = database.connect().await?;
        let proxy = DatabaseProxy::start(database.url()).await?;
        let settings = settings(proxy.url());
        let service = Service::start(workspace, launch, &settings)
            .await
            .map_err(|error| error.into_trouble())?;
        let client = Client::new(
            service.base_url(),
            settings.api_keys.first().map(String::as_str),
        )?;
        let context = Context {
            log: service.log().to_owned(),
            client,
            proxy,
            database: Mutex::new(connection),
            settings,
            rows: DataSet::Small.rows(),
        };
        Ok(Stage {
            service,
            context,
            database,
        })
    }

    /// The last lines that the service wrote.
    fn log_tail(&self) -> String {
        self.service.log_tail(LOG_LINES)
    }

    async fn stop(self) -> anyhow::Result<Stopped> {
        // The client's idle connections go first: a graceful shutdown waits for connections.
        drop(self.context);
        let stopped = self.service.stop().await;
        self.database.remove().await?;
        Ok(stopped)
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

/// A stage whose database server can be stopped, where there is one that may be.
struct RestartStage {
    stage: Stage,
    spare: Option<Spare>,
}

impl RestartStage {
    async fn start(
        workspace: &Workspace,
        launch: &Launch,
        main: &Server,
    ) -> anyhow::Result<RestartStage> {
        let spare = Spare::ensure(workspace, main).await?;
        let server = spare.as_ref().map_or(main, Spare::server);
        let stage = Stage::start(workspace, launch, server, SHORT_TIMEOUT).await?;
        Ok(RestartStage { stage, spare })
    }

    async fn watch(&self) -> anyhow::Result<Restart> {
        let Context { client, proxy, .. } = &self.stage.context;
        let power = Power {
            spare: self.spare.as_ref(),
            proxy,
        };
        let client = client.within(ANSWER_LIMIT_IN_TROUBLE);
        let pid = self.stage.service.pid();
        Restart::watch(&client, power, pid, POOL_SIZE.into()).await
    }

    async fn stop(self) -> anyhow::Result<Stopped> {
        let Some(spare) = self.spare else {
            return self.stage.stop().await;
        };
        // The run's claim on its database ended with the server: the next run on the spare server drops it.
        drop(self.stage.context);
        let stopped = self.stage.service.stop().await;
        spare.stop().await?;
        Ok(stopped)
    }
}

/// A stage with more records than fit between the database and a client that takes none.
async fn large_stage(
    workspace: &Workspace,
    launch: &Launch,
    server: &Server,
    timeout: Duration,
) -> anyhow::Result<Stage> {
    let stage = Stage::start(workspace, launch, server, timeout).await?;
    let mut database = stage.context.database.lock().await;
    sqlx::query(MANY_RECORDS).execute(&mut *database).await?;
    drop(database);
    Ok(stage)
}

/// A stage whose service logs as much as it can.
async fn talkative_stage(
    workspace: &Workspace,
    launch: &Launch,
    server: &Server,
) -> anyhow::Result<Stage> {
    let settings = |database_url: &str| Settings {
        log_level: "trace".to_owned(),
        ..settings(database_url, STEADY_TIMEOUT)
    };
    Stage::start_with(workspace, launch, server, settings).await
}

/// The stages of the two services that are told to stop.
struct ShutdownStages {
    busy: Stage,
    held: Stage,
}

impl ShutdownStages {
    async fn start(
        workspace: &Workspace,
        launch: &Launch,
        server: &Server,
    ) -> anyhow::Result<ShutdownStages> {
        let (busy, held) = tokio::join!(
            Stage::start(workspace, launch, server, BUSY_TIMEOUT),
            large_stage(workspace, launch, server, LARGE_TIMEOUT),
        );
        Ok(ShutdownStages {
            busy: busy?,
            held: held?,
        })
    }

    async fn watch(&mut self) -> anyhow::Result<Shutdown> {
        let Stage {
            service, context, ..
        } = &mut self.busy;
        let Stage {
            service: held,
            context: held_context,
            ..
        } = &mut self.held;
        // What they answer then, the tests will see.
        let _ = tokio::join!(
            settled(&context.client, "/ready"),
            settled(&held_context.client, "/ready")
        );
        let mut database = context.database.lock().await;
        let (busy, held) = tokio::join!(
            Busy::watch(service, &context.client, &mut database, &context.settings),
            Held::watch(held, &held_context.client, &held_context.settings),
        );
        let busy = busy.map_err(database_trouble)?;
        Ok(Shutdown { busy, held })
    }

    fn log_tail(&self) -> String {
        format!("{}\n{}", self.busy.log_tail(), self.held.log_tail())
    }

    async fn stop(self) -> anyhow::Result<Stopped> {
        let (busy, held) = tokio::join!(self.busy.stop(), self.held.stop());
        busy.and(held)
    }
}

async fn watch_silence(stage: &Stage) -> anyhow::Result<Silence> {
    let Context {
        client,
        proxy,
        database,
        ..
    } = &stage.context;
    let client = client.within(ANSWER_LIMIT_IN_TROUBLE);
    let mut database = database.lock().await;
    Silence::watch(&client, proxy, &mut database, POOL_SIZE.into())
        .await
        .map_err(database_trouble)
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

async fn run_talkative(stage: &mut Stage, suites: &[Suite]) -> anyhow::Result<Vec<Verdict>> {
    run_tests(stage, suites, |kind| match kind {
        Kind::Talkative(run) => Some(*run),
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
                log: stage.log_tail(),
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
        log: stage.log_tail(),
    }
}

fn database_trouble(error: anyhow::Error) -> anyhow::Error {
    error.context(
        Trouble::new(
            "the database went away while the tests ran: nothing can be said about the service",
        )
        .next("run the check again; just doctor if it happens again"),
    )
}
