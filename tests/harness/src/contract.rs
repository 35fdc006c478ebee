//! What a contract suite is made of: tests by what they look at, and what a test has at hand.

use std::path::PathBuf;
use std::pin::Pin;

use anyhow::Context as _;
use sqlx::postgres::PgConnection;
use tokio::sync::Mutex;

use crate::failure::TestError;
use crate::first_start::FirstStart;
use crate::http::Client;
use crate::outage::Outage;
use crate::proxy::DatabaseProxy;
use crate::restart::Restart;
use crate::service::Settings;
use crate::short_runs::ShortRuns;
use crate::shutdown::Shutdown;
use crate::silence::Silence;
use crate::workbench::Workbench;

/// How a contract test ends.
pub type TestResult = Result<(), TestError>;

/// What a contract test has at hand.
pub struct Context {
    /// Sends requests with a valid key.
    pub client: Client,
    /// Between the service and its database.
    pub proxy: DatabaseProxy,
    /// The test's own connection to the same database, past the proxy.
    pub database: Mutex<PgConnection>,
    /// What the service was started with.
    pub settings: Settings,
    /// The file that the service's output goes to.
    pub log: PathBuf,
    /// The rows of `records`; ids run from 1 to this. A service for tests of [`Kind::Large`] has more.
    pub rows: u32,
}

impl Context {
    /// What the service has written so far.
    ///
    /// # Errors
    /// When its log cannot be read, which says nothing about the service.
    pub fn logged(&self) -> anyhow::Result<String> {
        let bytes = std::fs::read(&self.log)
            .with_context(|| format!("cannot read the service's log {}", self.log.display()))?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// The function of a test that asks a service.
pub type Run<Input> =
    for<'a> fn(&'a Input) -> Pin<Box<dyn Future<Output = TestResult> + Send + 'a>>;

/// A test, by what it looks at.
#[derive(Clone, Copy)]
pub enum Kind {
    /// A service with a healthy database. Tests of this kind run one after the other on one service.
    Steady(Run<Context>),
    /// What was observed of one outage, on a service of its own.
    Outage(fn(&Outage) -> TestResult),
    /// What was observed of a silent database, on a service of its own.
    Silence(fn(&Silence) -> TestResult),
    /// What was observed of one restart of the database, on a service and a server of their own.
    Restart(fn(&Restart) -> TestResult),
    /// What was observed of services that started with an empty database.
    FirstStart(fn(&FirstStart) -> TestResult),
    /// A service with more records than fit between the database and a client that takes none. Tests of this kind run one
    /// after the other on one such service.
    Large(Run<Context>),
    /// A service that logs as much as it can. Tests of this kind run one after the other on one such service, beside the
    /// others.
    Talkative(Run<Context>),
    /// What was observed of two services that were told to stop.
    Shutdown(fn(&Shutdown) -> TestResult),
    /// What was observed of runs that end by themselves.
    ShortRuns(fn(&ShortRuns) -> TestResult),
    /// A service that the test starts its own way.
    Own(Run<Workbench>),
}

/// One test of the contract.
#[derive(Clone, Copy)]
pub struct ContractTest {
    /// The sentence that it holds the service to.
    pub name: &'static str,
    /// What it looks at, and how.
    pub kind: Kind,
}

/// Lists tests with their functions' names as the tests' names.
#[macro_export]
macro_rules! contract_tests {
    (
        steady: [$($steady:ident),* $(,)?],
        outage: [$($outage:ident),* $(,)?]
        $(, silence: [$($silence:ident),* $(,)?])?
        $(, restart: [$($restart:ident),* $(,)?])?
        $(, first_start: [$($first_start:ident),* $(,)?])?
        $(, large: [$($large:ident),* $(,)?])?
        $(, talkative: [$($talkative:ident),* $(,)?])?
        $(, shutdown: [$($shutdown:ident),* $(,)?])?
        $(, short_runs: [$($short_runs:ident),* $(,)?])?
        $(, own: [$($own:ident),* $(,)?])?
        $(,)?
    ) => {
        /// The suite's tests, in the order a learner meets them.
        pub fn tests() -> Vec<$crate::contract::ContractTest> {
            use $crate::contract::{ContractTest, Kind};
            vec![
                $(ContractTest { name: stringify!($steady), kind: Kind::Steady(|context| Box::pin($steady(context))) },)*
                $(ContractTest { name: stringify!($outage), kind: Kind::Outage($outage) },)*
                $($(ContractTest { name: stringify!($silence), kind: Kind::Silence($silence) },)*)?
                $($(ContractTest { name: stringify!($restart), kind: Kind::Restart($restart) },)*)?
                $($(ContractTest { name: stringify!($first_start), kind: Kind::FirstStart($first_start) },)*)?
                $($(ContractTest { name: stringify!($large), kind: Kind::Large(|context| Box::pin($large(context))) },)*)?
                $($(ContractTest { name: stringify!($talkative), kind: Kind::Talkative(|context| Box::pin($talkative(context))) },)*)?
                $($(ContractTest { name: stringify!($shutdown), kind: Kind::Shutdown($shutdown) },)*)?
                $($(ContractTest { name: stringify!($short_runs), kind: Kind::ShortRuns($short_runs) },)*)?
                $($(ContractTest { name: stringify!($own), kind: Kind::Own(|bench| Box::pin($own(bench))) },)*)?
            ]
        }
    };
}
/// A named group of tests.
pub struct Suite {
    /// The name that `exercise.toml` knows it by.
    pub name: &'static str,
    /// Its tests.
    pub tests: Vec<ContractTest>,
}

impl Suite {
    /// True when the Kotlin service keeps it as well. What is below a service is each implementation's own matter.
    pub fn judges_kotlin(&self) -> bool {
        let own = |test: &ContractTest| matches!(test.kind, Kind::Own(_));
        !self.tests.iter().any(own)
    }
}
