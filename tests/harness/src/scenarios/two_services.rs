//! The target beside the Kotlin service, each with a database of its own that has the tables for sharing visits. Each test starts what it
//! needs of the two; a stand-in for Kotlin gives the answers that a test sets.

use std::any::Any;
use std::cell::{Cell, OnceCell, RefCell};
use std::io;
use std::net::SocketAddr;
use std::process::Child;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use futures_util::stream::{self, StreamExt, TryStreamExt};
use nix::sys::signal::Signal;
use sqlx::{Executor, PgConnection};
use tempfile::NamedTempFile;
use tokio::io::{AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::sync::watch;

use super::two_releases::Instance;
use super::{Judging, Place, Played, Scenario, When, asked, stage, status_of};
use crate::build::{self, Launch, Profile};
use crate::scenarios::ContractTest;
use crate::service::port::Port;
use crate::service::proxy::DatabaseProxy;
use crate::service::upstream::{answer, next_head};
use crate::service::{Service, Settings, command, die_with_the_tool, free_address};
use workshop_base::scratch;
use workshop_base::target::Target;
use workshop_base::wait;
use workshop_base::workspace::Workspace;
use workshop_postgres::datasets::RunDatabase;
use workshop_requests::failure::{TestError, TestResult};
use workshop_requests::http::Client;

pub use super::two_releases::{Ended, LIMIT};

/// `DATABASE_TIMEOUT_MS` of the target: longer than a visit waits at a gate of a test.
const TIMEOUT: Duration = Duration::from_secs(1);
/// That of Kotlin, which a test holds up while it waits for something else.
const KOTLIN_TIMEOUT: Duration = Duration::from_secs(4);
/// How many tests run side by side.
const SIDE_BY_SIDE: usize = 4;
/// The migration for sharing visits in Kotlin's database: the service runs it itself, and tests don't always start it.
const SHARING: &str = "src/main/resources/migrations/0002_share_visits.sql";
/// The migrations of the target's own database. Each crate of the exercise has the same: they are given.
const MIGRATIONS: &str = "exercises/21-whose-table-is-it/migrations";
/// The target's statement at its first start beside Kotlin.
const FOLLOWS: &str = "UPDATE visits_ownership SET owner = 'kotlin', epoch = 1, shared = true";

pub static SCENARIO: Scenario = Scenario {
    of_the_contract: false,
    ..Scenario::new("two_services", When::Waiting, 15, |place, tests| {
        Box::pin(play(place, tests))
    })
};

async fn play(place: &Place<'_>, tests: &[&ContractTest]) -> anyhow::Result<Played> {
    let kotlin = build::build(place.workspace, Target::Kotlin, Profile::Check).await;
    let kotlin = kotlin.context("the Kotlin service cannot be built")?;
    let judging = tests.iter().map(async |test| {
        let settings = Settings {
            log_level: "info".to_owned(),
            ..stage::settings(TIMEOUT)
        };
        let services = TwoServices::new(place, &kotlin, settings).await?;
        let result = (test.judge)(&services).await;
        status_of(test, result, || services.log_tail())
    });
    let statuses = stream::iter(judging).buffered(SIDE_BY_SIDE);
    Ok(Played {
        statuses: statuses.try_collect().await?,
        leaving: Vec::new(),
    })
}

/// Runs a test that starts the services that it needs.
pub fn test<'a, F>(scene: &'a dyn Any, test: impl FnOnce(&'a TwoServices) -> F) -> Judging<'a>
where
    F: Future<Output = TestResult> + 'a,
{
    asked(scene, test)
}

/// The context of such a test.
pub struct TwoServices {
    instances: RefCell<Vec<Rc<Instance>>>,
    workspace: Workspace,
    kotlin: Launch,
    rust: Launch,
    settings: Settings,
    kotlin_database: RunDatabase,
    rust_database: RunDatabase,
    /// The address of Kotlin for the target; if it isn't started, nothing listens there.
    kotlin_url: OnceCell<String>,
}

impl TwoServices {
    /// Two fresh databases, in which Kotlin owns visits. Neither service is started yet.
    pub async fn new(
        place: &Place<'_>,
        kotlin: &Launch,
        settings: Settings,
    ) -> anyhow::Result<TwoServices> {
        let sharing = place.workspace.kotlin_service().join(SHARING);
        let sharing = std::fs::read_to_string(sharing)
            .context("cannot read the migration that shares visits")?;
        let kotlin_database = RunDatabase::create(place.server).await?;
        let rust_database = RunDatabase::create(place.server).await?;
        let mut connection = kotlin_database.connect().await?;
        sqlx::raw_sql(sqlx::AssertSqlSafe(sharing))
            .execute(&mut connection)
            .await?;
        let migrations = place.workspace.root().join(MIGRATIONS);
        rust_database.migrate(&migrations).await?;
        rust_database.connect().await?.execute(FOLLOWS).await?;
        Ok(TwoServices {
            instances: RefCell::default(),
            workspace: place.workspace.clone(),
            kotlin: kotlin.clone(),
            rust: place.launch.clone(),
            settings,
            kotlin_database,
            rust_database,
            kotlin_url: OnceCell::new(),
        })
    }

    /// A direct connection to Kotlin's database.
    pub async fn kotlin_database(&self) -> anyhow::Result<PgConnection> {
        self.kotlin_database.connect().await
    }

    /// A direct connection to the target's database.
    pub async fn rust_database(&self) -> anyhow::Result<PgConnection> {
        self.rust_database.connect().await
    }

    /// A proxy to Kotlin's database that a test can cut.
    pub async fn line_to_kotlin(&self) -> anyhow::Result<DatabaseProxy> {
        DatabaseProxy::start(self.kotlin_database.url()).await
    }

    /// A proxy to the target's database that a test can cut.
    pub async fn line_to_rust(&self) -> anyhow::Result<DatabaseProxy> {
        DatabaseProxy::start(self.rust_database.url()).await
    }

    /// The key that all of them accept.
    pub fn key(&self) -> &str {
        self.settings.api_keys.first().map_or("", String::as_str)
    }

    /// Starts a stand-in at the address where the target looks for Kotlin.
    pub fn stand_in(&self) -> anyhow::Result<KotlinStandIn> {
        let stand_in = KotlinStandIn::start()?;
        let _ = self
            .kotlin_url
            .set(format!("http://{}", stand_in.address()));
        Ok(stand_in)
    }

    /// Starts the Kotlin service with this `RECORD_REPOSITORY`, and waits until it is ready. Services that are started later know
    /// where it is.
    pub async fn start_kotlin(&self, repository: &str) -> Result<Rc<Instance>, TestError> {
        let mut launch = self.kotlin.clone();
        launch.env.extend([
            ("VISITS_OUTBOX".to_owned(), "on".to_owned()),
            ("RECORD_REPOSITORY".to_owned(), repository.to_owned()),
        ]);
        let settings = Settings {
            database_url: self.kotlin_database.url().to_owned(),
            timeout: KOTLIN_TIMEOUT,
            ..self.settings.clone()
        };
        let instance = self.started(&launch, &settings).await?;
        let url = instance.base_url();
        let _ = self.kotlin_url.set(url);
        instance.ready().await?;
        Ok(instance)
    }

    /// Starts the target, and waits until it is ready.
    pub async fn start(&self) -> Result<Rc<Instance>, TestError> {
        let (kotlin, rust) = (self.kotlin_database.url(), self.rust_database.url());
        self.start_behind(kotlin, rust).await
    }

    /// Starts the target so that it reaches the databases at these URLs, and waits until it is ready.
    pub async fn start_behind(&self, kotlin: &str, rust: &str) -> Result<Rc<Instance>, TestError> {
        let (launch, settings) = self.rust_behind(kotlin, rust);
        let instance = self.started(&launch, &settings).await?;
        instance.ready().await?;
        Ok(instance)
    }

    async fn started(&self, launch: &Launch, settings: &Settings) -> anyhow::Result<Rc<Instance>> {
        let service = Service::start(&self.workspace, launch, settings).await?;
        let instance = Rc::new(Instance {
            client: Client::new(service.base_url(), Some(self.key()))?,
            under_way: Cell::default(),
            service: RefCell::new(Some(service)),
        });
        self.instances.borrow_mut().push(Rc::clone(&instance));
        Ok(instance)
    }

    fn rust_behind(&self, kotlin: &str, rust: &str) -> (Launch, Settings) {
        let mut launch = self.rust.clone();
        let nowhere = "http://127.0.0.1:1".to_owned();
        let url = self.kotlin_url.get().unwrap_or(&nowhere).clone();
        launch.env.extend([
            ("KOTLIN_URL".to_owned(), url),
            ("KOTLIN_DATABASE_URL".to_owned(), kotlin.to_owned()),
            ("VISITS_POLL_MS".to_owned(), "250".to_owned()),
        ]);
        let settings = Settings {
            database_url: rust.to_owned(),
            ..self.settings.clone()
        };
        (launch, settings)
    }

    /// Begins a command of the target, `service own rust` for instance.
    pub fn begin(&self, arguments: &[&str]) -> anyhow::Result<Command> {
        let (kotlin, rust) = (self.kotlin_database.url(), self.rust_database.url());
        let (launch, settings) = self.rust_behind(kotlin, rust);
        let log = scratch::log(&self.workspace, &launch.label)?;
        let mut command = command(&launch, &settings, free_address()?, log.path())?;
        command.args(arguments);
        die_with_the_tool(&mut command, Signal::SIGKILL);
        let child = command.spawn()?;
        Ok(Command { child, log })
    }

    /// Runs a command of the target to its end.
    pub async fn run(&self, arguments: &[&str]) -> anyhow::Result<Ended> {
        self.begin(arguments)?.ended().await
    }

    fn log_tail(&self) -> String {
        let instances = self.instances.borrow();
        let running = instances.iter().filter_map(|instance| instance.log_tail());
        running.collect::<Vec<_>>().join("\n")
    }
}

/// A command of the target that runs.
pub struct Command {
    child: Child,
    log: NamedTempFile,
}

impl Command {
    /// Waits for its end.
    pub async fn ended(mut self) -> anyhow::Result<Ended> {
        let ended = async || self.child.try_wait().ok().flatten();
        let ended = wait::within(LIMIT, ended).await;
        if ended.is_none() {
            self.kill()?;
        }
        Ok(Ended {
            code: ended.and_then(|status| status.code()),
            said: std::fs::read_to_string(self.log.path())?,
        })
    }

    /// Kills it at once, like a power failure.
    pub fn kill(&mut self) -> io::Result<()> {
        self.child.kill()?;
        self.child.wait().map(drop)
    }
}

impl Drop for Command {
    fn drop(&mut self) {
        let _ = self.kill();
    }
}

/// The next answers of a stand-in for Kotlin: status lines and bodies. The last one is repeated.
type Answers = Arc<Mutex<Vec<(String, String)>>>;

/// A stand-in for the Kotlin service; it is gone when this is dropped.
pub struct KotlinStandIn {
    port: Port,
    answers: Answers,
    may_answer: watch::Sender<bool>,
}

impl KotlinStandIn {
    fn start() -> anyhow::Result<KotlinStandIn> {
        let answers = Answers::default();
        let (may_answer, answering) = watch::channel(true);
        let given = Arc::clone(&answers);
        let port =
            Port::free(move |connection| serve(connection, Arc::clone(&given), answering.clone()));
        Ok(KotlinStandIn {
            port: port.context("there is no free port")?,
            answers,
            may_answer,
        })
    }

    fn address(&self) -> SocketAddr {
        self.port.address()
    }

    /// From now on it gives these answers, one after the other, and then repeats the last one.
    pub fn answer_with(&self, answers: &[(&str, &str)]) {
        let answers = answers.iter().rev();
        let answers = answers.map(|(status, body)| ((*status).to_owned(), (*body).to_owned()));
        *self.answers.lock().unwrap_or_else(PoisonError::into_inner) = answers.collect();
    }

    /// Accepts requests, and answers none until [`Self::let_go`].
    pub fn hold(&self) {
        self.may_answer.send_replace(false);
    }

    /// Answers the waiting requests, and all later ones.
    pub fn let_go(&self) {
        self.may_answer.send_replace(true);
    }
}

async fn serve(
    connection: TcpStream,
    answers: Answers,
    mut may_answer: watch::Receiver<bool>,
) -> io::Result<()> {
    let mut connection = BufReader::new(connection);
    while next_head(&mut connection).await?.is_some() {
        if may_answer.wait_for(|may| *may).await.is_err() {
            break;
        }
        let next = {
            let mut answers = answers.lock().unwrap_or_else(PoisonError::into_inner);
            match answers.len() {
                0 => ("404 Not Found".to_owned(), "{}".to_owned()),
                1 => answers[0].clone(),
                _ => answers.pop().unwrap_or_default(),
            }
        };
        connection.write_all(&answer(&next.0, &next.1)).await?;
    }
    Ok(())
}
