//! A service with a database of its own, which was empty when it started, on bad days: its database goes away, falls silent or is
//! slow, and the service is killed or told to stop. The tests do that themselves, one after the other, and leave it as it was.

use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use sqlx::Connection as _;
use sqlx::postgres::PgConnection;
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Mutex;
use tokio::time::timeout;
use workshop_base::wait;
use workshop_base::workspace::Workspace;
use workshop_postgres::datasets::RunDatabase;

use super::outage::settled;
use super::{Context, Place, Played, Scenario, When, short_runs, stage, status_of};
use crate::build::launch::Launch;
use crate::scenarios::ContractTest;
use crate::service::{NoStart, Service, Settings, StartError};
use workshop_requests::failure::{Failure, TestError};
use workshop_requests::http::{Answer, Client};

pub use super::asked as test;

/// `DATABASE_TIMEOUT_MS`: short, since a learner waits for it.
const TIMEOUT: Duration = Duration::from_millis(400);
/// The maximum time until a line appears in the log.
const LINE_LIMIT: Duration = Duration::from_secs(3);
/// How soon a service that was told to stop must refuse new connections.
const REFUSED_WITHIN: Duration = Duration::from_secs(3);
/// The maximum time for a service to end after it was told to stop.
const STOP_LIMIT: Duration = Duration::from_secs(5);
/// The maximum time for a service to open a connection to its database and send something.
const TLS_LIMIT: Duration = Duration::from_secs(5);
/// PostgreSQL's request for TLS: a length, and a number.
const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f];

pub static SCENARIO: Scenario = Scenario {
    of_the_contract: false,
    ..Scenario::new("reports_faults", When::First, 10, |place, tests| {
        Box::pin(play(place, tests))
    })
};

async fn play(place: &Place<'_>, tests: &[&ContractTest]) -> anyhow::Result<Played> {
    let database = RunDatabase::empty(place.server).await?;
    let stage = place.stage_on(database, stage::settings(TIMEOUT)).await?;
    let bad_days = BadDays {
        client: stage.client.clone(),
        address: stage.service.address(),
        pool_size: stage.pool_size(),
        workspace: place.workspace.clone(),
        launch: place.launch.clone(),
        stage: Mutex::new(stage),
    };
    // A service written from nothing has no `/ready` for a while; its author must not wait for it again and again.
    let gets_ready = bad_days.client.get("/ready").await;
    let gets_ready = gets_ready.is_ok_and(|answer| answer.status() == 200);
    let mut statuses = Vec::new();
    for test in tests {
        bad_days.stage.lock().await.service.begin_log();
        let result = (test.judge)(&bad_days).await;
        let mut stage = bad_days.stage.lock().await;
        statuses.push(status_of(test, result, || stage.log_tail())?);
        // The next test begins with everything in its place, whatever this one has done.
        stage.proxy.resume();
        stage.proxy.restore().await;
        let has_ended = stage.service.exited().is_some();
        drop(stage);
        if has_ended {
            let _ = bad_days.start_again().await;
        }
        if gets_ready {
            let _ = bad_days.ready().await;
        }
    }
    Ok(bad_days.stage.into_inner().leaves_with(statuses))
}

/// The context of such a test.
pub struct BadDays {
    /// Sends requests to the service, which stays at its address.
    pub client: Client,
    pub address: SocketAddr,
    /// How many connections the service may have.
    pub pool_size: usize,
    workspace: Workspace,
    launch: Launch,
    stage: Mutex<Context>,
}

/// How a service ended after it was told to stop.
#[derive(Debug, Clone, Copy)]
pub struct ReportsEnd {
    /// Its status; `None` if it has not ended within the limit.
    pub status: Option<ExitStatus>,
}

/// The behavior of a service whose URL has `sslmode=require`.
#[derive(Debug)]
pub enum AskedForTls {
    /// It has ended, with this output.
    Refused(String),
    /// It runs, and has first sent these bytes to its database.
    Sent(Vec<u8>),
}

impl AskedForTls {
    /// True when it has asked the database for TLS, in PostgreSQL's way or by beginning with it.
    pub fn is_honored(&self) -> bool {
        const HANDSHAKE: u8 = 0x16;
        match self {
            AskedForTls::Refused(_) => false,
            AskedForTls::Sent(bytes) => *bytes == SSL_REQUEST || bytes.first() == Some(&HANDSHAKE),
        }
    }
}

impl BadDays {
    /// Waits until the service is ready again, as long as a recovery may take.
    pub async fn ready(&self) -> Result<(), Failure> {
        settled(&self.client, "/ready").await?.expect_status(200)?;
        Ok(())
    }

    /// The maximum number of connections to the database that were open at the same time.
    pub async fn most_connections(&self) -> usize {
        self.stage.lock().await.proxy.most_open()
    }

    /// Takes the database away.
    pub async fn cut(&self) {
        self.stage.lock().await.proxy.cut().await;
    }

    /// Gives the database back.
    pub async fn restore(&self) {
        self.stage.lock().await.proxy.restore().await;
    }

    /// The database falls silent: connections stay, new ones are accepted, no answer comes.
    pub async fn stall(&self) {
        self.stage.lock().await.proxy.stall();
    }

    /// The database answers again.
    pub async fn resume(&self) {
        self.stage.lock().await.proxy.resume();
    }

    /// The open connections are lost silently; new ones work.
    pub async fn lose(&self) {
        self.stage.lock().await.proxy.lose();
    }

    /// Closes all connections, and allows no more than this many from now on.
    pub async fn give_only(&self, most: usize) {
        let stage = self.stage.lock().await;
        stage.proxy.cut().await;
        stage.proxy.allow(most);
        stage.proxy.restore().await;
    }

    /// Gives as many connections as are asked for; returns how many it has refused so far.
    pub async fn give_all(&self) -> usize {
        let stage = self.stage.lock().await;
        stage.proxy.allow(usize::MAX);
        stage.proxy.refused()
    }

    /// The log of the service since its last start.
    pub async fn logged(&self) -> anyhow::Result<String> {
        self.stage.lock().await.logged()
    }

    /// The first line of the log with this in it, which may take a moment.
    pub async fn line_of_log(&self, word: &str) -> anyhow::Result<Option<String>> {
        let stage = self.stage.lock().await;
        let line = async || stage.logged_line(|line| line.contains(word)).transpose();
        wait::within(LINE_LIMIT, line).await.transpose()
    }

    /// Locks every table of the service while `meanwhile` runs.
    pub async fn with_locked_tables<T>(
        &self,
        meanwhile: impl AsyncFnOnce(&mut PgConnection) -> Result<T, TestError>,
    ) -> Result<T, TestError> {
        self.with_tables_locked("ACCESS EXCLUSIVE", meanwhile).await
    }

    /// Locks every table of the service for writers while `meanwhile` runs.
    pub async fn with_writers_locked_out<T>(
        &self,
        meanwhile: impl AsyncFnOnce(&mut PgConnection) -> Result<T, TestError>,
    ) -> Result<T, TestError> {
        self.with_tables_locked("SHARE", meanwhile).await
    }

    /// Tables are found in the catalog: a service names them as it likes.
    async fn with_tables_locked<T>(
        &self,
        mode: &str,
        meanwhile: impl AsyncFnOnce(&mut PgConnection) -> Result<T, TestError>,
    ) -> Result<T, TestError> {
        let stage = self.stage.lock().await;
        let mut database = stage.database.lock().await;
        let mut lock = database.begin().await?;
        let tables: Vec<String> = sqlx::query_scalar(
            "SELECT quote_ident(tablename) FROM pg_tables WHERE schemaname = 'public' AND tablename <> '_sqlx_migrations'",
        )
        .fetch_all(&mut *lock)
        .await?;
        for table in tables {
            let lock_it = format!("LOCK TABLE {table} IN {mode} MODE");
            sqlx::query(sqlx::AssertSqlSafe(lock_it))
                .execute(&mut *lock)
                .await?;
        }
        let result = meanwhile(&mut lock).await;
        lock.rollback().await?;
        result
    }

    /// Kills the service and starts it again with this `LOG_LEVEL`, at the same address and on the same database.
    pub async fn restart_with_log_level(&self, level: &str) -> Result<(), TestError> {
        self.stage.lock().await.settings.log_level = level.to_owned();
        self.kill_and_start().await
    }

    /// Kills the service and starts it again, at the same address and on the same database. It may not be ready yet.
    pub async fn kill_and_start(&self) -> Result<(), TestError> {
        self.stage.lock().await.service.kill();
        self.start_again().await
    }

    /// Starts the service again that has ended, at the same address and on the same database. It may not be ready yet.
    pub async fn start_again(&self) -> Result<(), TestError> {
        let mut stage = self.stage.lock().await;
        let settings = stage.settings.clone();
        let started = Service::start_at(&self.workspace, &self.launch, &settings, self.address);
        stage.service = started.await.map_err(|error| {
            let expected = "a service that starts again at its address, on its database";
            Failure::new(expected, error.to_string())
        })?;
        Ok(())
    }

    /// Tells the service to stop, and waits for its end.
    pub async fn stop(&self) -> ReportsEnd {
        self.stop_while(async {}).await.1
    }

    /// Tells the service to stop, does something once it accepts no more connections, and waits for its end.
    pub async fn stop_while<T>(&self, meanwhile: impl Future<Output = T>) -> (T, ReportsEnd) {
        let mut stage = self.stage.lock().await;
        stage.service.ask_to_stop();
        let deadline = Instant::now() + STOP_LIMIT;
        let refused = async || TcpStream::connect(self.address).await.err();
        let _ = wait::within(REFUSED_WITHIN, refused).await;
        let ended = wait::until(deadline, async || stage.service.exited());
        let (done, status) = tokio::join!(meanwhile, ended);
        (done, ReportsEnd { status })
    }

    /// The output of one more service that is started with changed settings, and ends because of them.
    pub async fn refused_start(
        &self,
        change: impl FnOnce(&mut Settings),
    ) -> Result<String, TestError> {
        let mut settings = self.stage.lock().await.settings.clone();
        change(&mut settings);
        let mut launch = self.launch.clone();
        launch.limits.start = launch.limits.start.min(REFUSED_WITHIN);
        let expected = "a service that ends at once, with a sentence about the setting";
        let error: StartError = match Service::start(&self.workspace, &launch, &settings).await {
            Ok(_) => return Err(Failure::new(expected, "it runs, and answers GET /health").into()),
            Err(error) => error.downcast()?,
        };
        match error.why {
            NoStart::Exited(_) => Ok(error.log),
            why => Err(Failure::new(expected, why.to_string()).into()),
        }
    }

    /// The answer to `/ready` of one more service whose database is at an IPv6 address, with the options that providers add to their
    /// URLs; none on a machine without such an address.
    pub async fn ready_by_ipv6(&self) -> Result<Option<Answer>, TestError> {
        let settings = self.stage.lock().await.settings.clone();
        let ready = short_runs::ready_by_ipv6(&self.workspace, &self.launch, &settings).await?;
        Ok(ready.transpose()?)
    }

    /// The behavior of one more service whose URL asks for TLS.
    pub async fn asked_for_tls(&self) -> Result<AskedForTls, TestError> {
        let database = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
        let database = database.map_err(anyhow::Error::new)?;
        let port = database.local_addr().map_err(anyhow::Error::new)?.port();
        let mut settings = self.stage.lock().await.settings.clone();
        settings.database_url =
            format!("postgres://reports@127.0.0.1:{port}/reports?sslmode=require");
        let service = match Service::start(&self.workspace, &self.launch, &settings).await {
            Ok(service) => service,
            Err(error) => return Ok(AskedForTls::Refused(error.downcast::<StartError>()?.log)),
        };
        let client = Client::new(service.base_url(), None)?;
        let first = timeout(TLS_LIMIT, first_bytes(&database));
        // Some connect at the first request.
        let (first, _) = tokio::join!(first, client.get("/ready"));
        service.stop().await;
        Ok(AskedForTls::Sent(first.unwrap_or_default()))
    }
}

/// The first bytes on the next connection: as many as a request for TLS has.
async fn first_bytes(database: &TcpListener) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Ok((connection, _)) = database.accept().await {
        let mut first = connection.take(SSL_REQUEST.len() as u64);
        // After an error, the bytes before it are all there is.
        let _ = first.read_to_end(&mut bytes).await;
    }
    bytes
}
