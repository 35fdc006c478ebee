//! Two releases of the service on one database: as release 1 the reference of exercise 11, or the Kotlin service if the target is in
//! Kotlin; as release 2 the target. Each test has a database of its own, and starts and stops instances of both as it likes.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Duration;

use anyhow::Context as _;
use futures_util::stream::{self, StreamExt, TryStreamExt};
use nix::sys::signal::Signal;
use sqlx::PgConnection;

use super::outage::works;
use super::{Judging, LOG_LINES, Place, Played, Scenario, When, asked, stage, status_of};
use crate::build::{self, Launch, Profile};
use crate::scenarios::ContractTest;
use crate::service::proxy::DatabaseProxy;
use crate::service::{Service, Settings, command, die_with_the_tool, free_address};
use workshop_base::scratch;
use workshop_base::target::{Language, Target};
use workshop_base::wait;
use workshop_base::workspace::Workspace;
use workshop_postgres::datasets::RunDatabase;
use workshop_requests::failure::{Failure, TestError, TestResult};
use workshop_requests::http::Client;

/// `DATABASE_TIMEOUT_MS`: shorter than an `ALTER` waits by the settings of release 1, and much longer than it may wait here.
const TIMEOUT: Duration = Duration::from_millis(800);
/// The maximum time that a test waits for anything.
pub const LIMIT: Duration = Duration::from_secs(20);
/// How many tests run side by side.
const SIDE_BY_SIDE: usize = 4;
/// Release 1 for a target in this language.
fn release_1_of(language: Language) -> Target {
    match language {
        Language::Kotlin => Target::Kotlin,
        _ => Target::Solution(11),
    }
}

pub static SCENARIO: Scenario = Scenario {
    of_the_contract: false,
    ..Scenario::new("two_releases", When::Waiting, 12, |place, tests| {
        Box::pin(play(place, tests))
    })
};

async fn play(place: &Place<'_>, tests: &[&ContractTest]) -> anyhow::Result<Played> {
    let release_1 = release_1_of(place.launch.language);
    let release_1 = build::build(place.workspace, release_1, Profile::Check);
    let release_1 = release_1.await.context("release 1 cannot be built")?;
    let judging = tests.iter().map(async |test| {
        let database = RunDatabase::create(place.server).await?;
        let releases = TwoReleases {
            instances: RefCell::default(),
            workspace: place.workspace.clone(),
            release_1: release_1.clone(),
            release_2: place.launch.clone(),
            settings: Settings {
                log_level: "info".to_owned(),
                database_url: database.url().to_owned(),
                ..stage::settings(TIMEOUT)
            },
            database,
        };
        let result = (test.judge)(&releases).await;
        status_of(test, result, || releases.log_tail())
    });
    let statuses = stream::iter(judging).buffered(SIDE_BY_SIDE);
    Ok(Played {
        statuses: statuses.try_collect().await?,
        leaving: Vec::new(),
    })
}

/// Runs a test that starts and stops releases.
pub fn test<'a, F>(scene: &'a dyn Any, test: impl FnOnce(&'a TwoReleases) -> F) -> Judging<'a>
where
    F: Future<Output = TestResult> + 'a,
{
    asked(scene, test)
}

/// The release of an instance, and the column that it reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Release {
    /// The earlier one.
    One,
    /// The target, as it is shipped.
    Two,
    /// The target with `VISITED_FROM=visited_at`.
    TwoSwitched,
}

/// The context of such a test.
pub struct TwoReleases {
    instances: RefCell<Vec<Rc<Instance>>>,
    workspace: Workspace,
    release_1: Launch,
    release_2: Launch,
    settings: Settings,
    database: RunDatabase,
}

/// A service that a test has started.
pub struct Instance {
    /// Sends requests with a valid key.
    pub client: Client,
    /// How many requests the tests have under way on it.
    pub under_way: Cell<usize>,
    pub(super) service: RefCell<Option<Service>>,
}

/// The end of a command of the service.
#[derive(Debug)]
pub struct Ended {
    /// Its exit code; `None` if it was killed, or did not end in time.
    pub code: Option<i32>,
    /// Its output.
    pub said: String,
}

impl TwoReleases {
    /// A direct connection to the database.
    pub async fn connect(&self) -> anyhow::Result<PgConnection> {
        self.database.connect().await
    }

    /// A proxy to the database that a test can cut.
    pub async fn line(&self) -> anyhow::Result<DatabaseProxy> {
        DatabaseProxy::start(self.database.url()).await
    }

    /// Starts an instance. It may not be ready yet.
    pub async fn start(&self, release: Release) -> anyhow::Result<Rc<Instance>> {
        self.start_at(release, self.database.url()).await
    }

    /// Starts an instance that reaches the database by this proxy only.
    pub async fn start_behind(
        &self,
        release: Release,
        line: &DatabaseProxy,
    ) -> anyhow::Result<Rc<Instance>> {
        self.start_at(release, line.url()).await
    }

    async fn start_at(&self, release: Release, url: &str) -> anyhow::Result<Rc<Instance>> {
        let launch = self.launch(release);
        let settings = Settings {
            database_url: url.to_owned(),
            ..self.settings.clone()
        };
        let service = Service::start(&self.workspace, &launch, &settings).await?;
        let key = self.settings.api_keys.first().map(String::as_str);
        let instance = Rc::new(Instance {
            client: Client::new(service.base_url(), key)?,
            under_way: Cell::default(),
            service: RefCell::new(Some(service)),
        });
        self.instances.borrow_mut().push(Rc::clone(&instance));
        Ok(instance)
    }

    /// Starts an instance, and waits until it is ready.
    pub async fn ready(&self, release: Release) -> Result<Rc<Instance>, TestError> {
        let instance = self.start(release).await?;
        instance.ready().await?;
        Ok(instance)
    }

    /// The URL that all of them connect to.
    pub fn database_url(&self) -> &str {
        self.database.url()
    }

    /// Runs `service contract` to its end.
    pub async fn contract(&self) -> anyhow::Result<Ended> {
        self.contract_by(self.database.url()).await
    }

    /// Runs `service contract` to its end, with the role that this URL of the database names.
    pub async fn contract_by(&self, url: &str) -> anyhow::Result<Ended> {
        let launch = self.launch(Release::TwoSwitched);
        let log = scratch::log(&self.workspace, &launch.label)?;
        let settings = Settings {
            database_url: url.to_owned(),
            ..self.settings.clone()
        };
        let mut command = command(&launch, &settings, free_address()?, log.path())?;
        command.arg("contract");
        die_with_the_tool(&mut command, Signal::SIGKILL);
        let mut child = command.spawn()?;
        let ended = async || child.try_wait().ok().flatten();
        let ended = wait::within(LIMIT, ended).await;
        if ended.is_none() {
            child.kill()?;
            child.wait()?;
        }
        Ok(Ended {
            code: ended.and_then(|status| status.code()),
            said: std::fs::read_to_string(log.path())?,
        })
    }

    fn launch(&self, release: Release) -> Launch {
        let (launch, from) = match release {
            Release::One => return self.release_1.clone(),
            Release::Two => (&self.release_2, "visited"),
            Release::TwoSwitched => (&self.release_2, "visited_at"),
        };
        let mut launch = launch.clone();
        launch
            .env
            .push(("VISITED_FROM".to_owned(), from.to_owned()));
        launch
    }

    fn log_tail(&self) -> String {
        let instances = self.instances.borrow();
        let running = instances.iter().filter_map(|instance| instance.log_tail());
        running.collect::<Vec<_>>().join("\n")
    }
}

impl Instance {
    /// Waits until it is ready.
    pub async fn ready(&self) -> Result<(), Failure> {
        let ask = async || self.client.get("/ready").await;
        let answer = wait::last_within(LIMIT, ask, works).await?;
        answer.expect_status(200).map(drop)
    }

    /// Its address.
    pub fn base_url(&self) -> String {
        let service = self.service.borrow();
        let url = service.as_ref().map(Service::base_url);
        url.unwrap_or_default().to_owned()
    }

    /// The address that it listens on, and its process.
    pub fn place(&self) -> Option<(SocketAddr, u32)> {
        let service = self.service.borrow();
        let service = service.as_ref()?;
        Some((service.address(), service.pid()))
    }

    /// Its log so far.
    pub fn logged(&self) -> String {
        let service = self.service.borrow();
        let log = service
            .as_ref()
            .map(|service| std::fs::read(service.log()).unwrap_or_default());
        String::from_utf8_lossy(&log.unwrap_or_default()).into_owned()
    }

    /// Tells it to stop, and waits until it has. Requests under way on it are answered first.
    pub async fn stop(&self) {
        let none_under_way = async || (self.under_way.get() == 0).then_some(());
        wait::within(LIMIT, none_under_way).await;
        let service = self.service.borrow_mut().take();
        if let Some(service) = service {
            service.stop().await;
        }
    }

    /// Kills it at once, like a power failure.
    pub fn kill(&self) {
        if let Some(mut service) = self.service.borrow_mut().take() {
            service.kill();
        }
    }

    pub(super) fn log_tail(&self) -> Option<String> {
        let service = self.service.borrow();
        service.as_ref().map(|service| service.log_tail(LOG_LINES))
    }
}
