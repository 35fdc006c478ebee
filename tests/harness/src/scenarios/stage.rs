//! The stage of most scenarios: a service with a database of its own behind a proxy, and the context of its tests.

use std::any::Any;
use std::time::Duration;

use anyhow::Context as _;
use sqlx::Connection;
use sqlx::postgres::PgConnection;
use tokio::sync::Mutex;
use workshop_base::outcome::Trouble;
use workshop_postgres::datasets::{DataSet, RunDatabase};

use super::{LOG_LINES, Place, Played, judge_all, outage, status_in_silence, tell};
use crate::report::TestStatus;
use crate::scenarios::ContractTest;
use crate::service::collector::Collector;
use crate::service::issuer::{Issuer, Keys};
use crate::service::proxy::DatabaseProxy;
use crate::service::upstream::Upstream;
use crate::service::{Service, Settings, Stopped, sockets};
use workshop_requests::failure::Failure;
use workshop_requests::http::Client;

/// Few connections, so that a pool that is bypassed is noticed at once.
const POOL_SIZE: u16 = 4;
/// `EXPORT_TIMEOUT_MS`: longer than `DATABASE_TIMEOUT_MS` of the service with many records, so that the two can be told apart on
/// a slow machine too.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(3);
/// More than one, so that "several configured keys" is tested.
const API_KEYS: [&str; 2] = ["valid_key", "another_valid_key"];

/// A running service, and the context of a test that asks it.
pub struct Context {
    /// Sends requests with a valid key.
    pub client: Client,
    /// Between the service and its database.
    pub proxy: DatabaseProxy,
    /// The test's own connection to the same database, without the proxy.
    pub database: Mutex<PgConnection>,
    /// The service of prices, if the scenario has one.
    pub upstream: Option<Upstream>,
    /// The issuer of tokens with its keys, if the scenario has one.
    pub issuer: Option<(Issuer, Keys)>,
    /// The collector of its spans and metrics, if the scenario has one.
    pub collector: Option<Collector>,
    /// The settings of the service.
    pub settings: Settings,
    /// The rows of `records` that came with the data set; ids run from 1 to this.
    pub rows: u32,
    pub(super) service: Service,
    run_database: RunDatabase,
}

impl Context {
    /// The log of the service so far.
    pub fn logged(&self) -> anyhow::Result<String> {
        let log = self.service.log();
        let bytes = std::fs::read(log)
            .with_context(|| format!("cannot read the service's log {}", log.display()))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The first line of the log that meets the condition.
    pub fn logged_line(&self, is_so: impl Fn(&str) -> bool) -> anyhow::Result<Option<String>> {
        let logged = self.logged()?;
        let found = logged.lines().find(|line| is_so(line));
        Ok(found.map(str::to_owned))
    }
}

/// The settings of a service with this `DATABASE_TIMEOUT_MS`, whose database the stage names.
pub fn settings(timeout: Duration) -> Settings {
    Settings {
        pool_size: POOL_SIZE,
        timeout,
        export_timeout: EXPORT_TIMEOUT,
        api_keys: API_KEYS.map(str::to_owned).into(),
        ..Settings::new("")
    }
}

impl Place<'_> {
    /// Starts the service with this `DATABASE_TIMEOUT_MS`.
    pub async fn stage(&self, timeout: Duration) -> anyhow::Result<Context> {
        self.stage_with(settings(timeout)).await
    }

    /// Starts the service with this `DATABASE_TIMEOUT_MS`, watches it, and runs the tests on the observations.
    pub async fn watched<T: Any>(
        &self,
        timeout: Duration,
        watch: impl AsyncFnOnce(&Context) -> sqlx::Result<T>,
        tests: &[&ContractTest],
    ) -> anyhow::Result<Played> {
        let stage = self.stage(timeout).await?;
        let seen = watch(&stage).await;
        let seen = seen.map_err(|error| database_trouble(error.into()))?;
        stage.judged(&seen, tests).await
    }

    /// Starts the service with these settings.
    pub async fn stage_with(&self, settings: Settings) -> anyhow::Result<Context> {
        let run_database = RunDatabase::create(self.server).await?;
        self.stage_on(run_database, settings).await
    }

    /// Starts the service on a database of its own, and waits until it is ready, within a limit: what it answers then, the tests
    /// will see.
    pub async fn stage_on(
        &self,
        run_database: RunDatabase,
        mut settings: Settings,
    ) -> anyhow::Result<Context> {
        let connection = run_database.connect().await?;
        let proxy = DatabaseProxy::start(run_database.url()).await?;
        settings.database_url = proxy.url().to_owned();
        let service = Service::start(self.workspace, self.launch, &settings).await?;
        let key = settings.api_keys.first().map(String::as_str);
        let client = Client::new(service.base_url(), key)?;
        let _ = outage::settled(&client, "/ready").await;
        Ok(Context {
            client,
            proxy,
            database: Mutex::new(connection),
            upstream: None,
            issuer: None,
            collector: None,
            settings,
            rows: DataSet::Small.rows(),
            service,
            run_database,
        })
    }
}

impl Context {
    /// How many connections the service may have.
    pub fn pool_size(&self) -> usize {
        self.settings.pool_size.into()
    }

    /// The service's process.
    pub fn service(&self) -> &Service {
        &self.service
    }

    /// The name of its database.
    pub fn database_name(&self) -> &str {
        self.run_database.name()
    }

    /// The last lines that the service wrote.
    pub fn log_tail(&self) -> String {
        self.service.log_tail(LOG_LINES)
    }

    /// Runs the tests on the service, one after the other.
    pub async fn ask(mut self, tests: &[&ContractTest]) -> anyhow::Result<Played> {
        let mut statuses = Vec::new();
        for test in tests {
            let result = if self.service.exited().is_some() {
                let got = format!("it had ended before {}", test.name);
                Err(Failure::new("a service that keeps running", got).into())
            } else {
                self.service.begin_log();
                (test.judge)(&self).await
            };
            let status = status_in_silence(result, || self.log_tail()).map_err(database_trouble)?;
            // A database that died in the middle would turn every test red: that is no verdict on the service.
            if matches!(status, TestStatus::Failed { .. })
                && let Err(error) = self.database.lock().await.ping().await
            {
                return Err(database_trouble(error.into()));
            }
            tell(test, &status);
            statuses.push(status);
        }
        Ok(self.leaves_with(statuses))
    }

    /// Runs the tests on the observations of the service.
    pub async fn judged(self, seen: &dyn Any, tests: &[&ContractTest]) -> anyhow::Result<Played> {
        let statuses = judge_all(seen, &self.log_tail(), tests).await?;
        Ok(self.leaves_with(statuses))
    }

    /// Tells the service to stop and does not wait for it.
    pub fn leaves_with(self, statuses: Vec<TestStatus>) -> Played {
        Played {
            statuses,
            leaving: vec![tokio::spawn(self.stop())],
        }
    }

    async fn stop(self) -> Stopped {
        // The client's idle connections go first: a graceful shutdown waits for connections, in Rocket as long as it may.
        drop((
            self.client,
            self.proxy,
            self.database,
            self.upstream,
            self.issuer,
        ));
        // The collector stays until the end, so that nothing waits for it.
        let _collector = self.collector;
        sockets::wait_until_closed(self.service.address().port()).await;
        let stopped = self.service.stop().await;
        drop(self.run_database);
        stopped
    }
}

/// The error for a failure of a test's own connection.
pub fn database_trouble(error: anyhow::Error) -> anyhow::Error {
    error.context(
        Trouble::new(
            "the database went away while the tests ran, so they say nothing about the service",
        )
        .next("run the check again; just doctor if it happens again"),
    )
}
