//! Scenarios: the environments that the tests of a suite need around a service, one file each.
//!
//! A scenario starts what it needs, watches, has its tests judge what there is, and stops. Each plays on services and databases
//! of its own, so no test can disturb those of another scenario. A new scenario is one file with a `SCENARIO` and a `test`, and
//! its line below; suites name it by its module.

pub mod bunks;
pub mod cases;
pub mod contacts;
pub mod contacts_faults;
pub mod first_start;
pub mod hang;
pub mod hurried;
pub mod impatient;
pub mod incident;
pub mod issuer;
pub mod issuer_away;
pub mod large;
pub mod leak;
pub mod outage;
pub mod own;
pub mod partings;
pub mod peers;
pub mod releases;
pub mod reports;
pub mod reports_faults;
pub mod reports_releases;
pub mod reports_strangers;
mod reproduction;
pub mod restart;
pub mod schema_change;
pub mod seen;
pub mod seen_last;
pub mod seen_quietly;
pub mod short_runs;
pub mod shutdown;
pub mod silence;
pub mod silences;
pub mod sources;
mod stage;
pub mod stalled;
pub mod steady;
pub mod strangers;
pub mod supplied;
pub mod talkative;
pub mod two_releases;
pub mod two_services;
pub mod wrong;

use std::any::Any;
use std::future;

use crate::build::launch::Launch;
use crate::report::TestStatus;
use crate::service::Stopped;
use anyhow::Context as _;
use futures_util::future::LocalBoxFuture;
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::JoinHandle;
use workshop_base::workspace::Workspace;
use workshop_postgres::Server;
use workshop_requests::failure::{TestError, TestResult};

pub use stage::Context;

/// How many of the service's last log lines go with a failure.
const LOG_LINES: usize = 8;

/// One test of the contract.
#[derive(Clone, Copy)]
pub struct ContractTest {
    /// The requirement, as a sentence.
    pub name: &'static str,
    /// What it needs around the service.
    pub scenario: &'static Scenario,
    /// The function that judges the scenario.
    pub judge: Judge,
}

/// What some tests need around a service.
pub struct Scenario {
    /// The name of its module.
    pub name: &'static str,
    /// When its tests run.
    pub when: When,
    /// About how many seconds it takes alone. The longest begin first.
    pub lasts: u8,
    /// False if the tests look inside the service, which differs between implementations, or are for another kind of service.
    pub of_the_contract: bool,
    /// Plays it for these tests and gives their statuses in the same order.
    pub play: Play,
}

impl Scenario {
    /// A scenario of the contract.
    const fn new(name: &'static str, when: When, lasts: u8, play: Play) -> Scenario {
        Scenario {
            name,
            when,
            lasts,
            of_the_contract: true,
            play,
        }
    }
}

/// How a scenario is played.
pub type Play =
    for<'a> fn(&'a Place<'a>, &'a [&'a ContractTest]) -> LocalBoxFuture<'a, anyhow::Result<Played>>;

/// When the tests of a scenario run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// At first: they ask a service that nothing is wrong with, and rest on no time limits.
    First,
    /// With the first ones, unless the exercise has slower ones.
    Brief,
    /// After the first ones: they wait for time limits of the service, or for slow clients.
    Waiting,
}

/// The environment in which services are judged.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    pub workspace: &'a Workspace,
    pub server: &'a Server,
    pub launch: &'a Launch,
}

/// The statuses of a scenario's tests, and what is still being stopped.
pub struct Played {
    /// One status per test, in their order.
    pub statuses: Vec<TestStatus>,
    /// Services that were told to stop. The next tests don't have to wait for them.
    pub leaving: Vec<JoinHandle<Stopped>>,
}

/// How a test judges what its scenario offers.
pub type Judge = for<'a> fn(&'a dyn Any) -> Judging<'a>;

/// A test at work.
pub type Judging<'a> = LocalBoxFuture<'a, TestResult>;

/// Runs a test that asks what the scenario has started.
pub fn asked<'a, T, F>(scene: &'a dyn Any, test: impl FnOnce(&'a T) -> F) -> Judging<'a>
where
    T: Any,
    F: Future<Output = TestResult> + 'a,
{
    match its_own(scene) {
        Ok(scene) => Box::pin(test(scene)),
        Err(error) => Box::pin(future::ready(Err(error))),
    }
}

/// Runs a test on the scenario's observations.
pub fn judged<'a, T: Any>(scene: &'a dyn Any, test: fn(&T) -> TestResult) -> Judging<'a> {
    Box::pin(future::ready(its_own(scene).and_then(test)))
}

fn its_own<T: Any>(scene: &dyn Any) -> Result<&T, TestError> {
    let scene = scene.downcast_ref();
    Ok(scene.context("a test of another scenario")?)
}

/// Runs the tests on a scenario's observations. `log` is the end of the service's log.
async fn judge_all(
    seen: &dyn Any,
    log: &str,
    tests: &[&ContractTest],
) -> anyhow::Result<Vec<TestStatus>> {
    let mut statuses = Vec::new();
    for test in tests {
        let result = (test.judge)(seen).await;
        statuses.push(status_of(test, result, || log.to_owned())?);
    }
    Ok(statuses)
}

/// The status of a test, which is announced at once: the other tests of its scenario may take long.
fn status_of(
    test: &ContractTest,
    result: TestResult,
    log: impl FnOnce() -> String,
) -> anyhow::Result<TestStatus> {
    let status = status_in_silence(result, log)?;
    tell(test, &status);
    Ok(status)
}

fn status_in_silence(
    result: TestResult,
    log: impl FnOnce() -> String,
) -> anyhow::Result<TestStatus> {
    match result {
        Ok(()) => Ok(TestStatus::Passed),
        Err(TestError::Failed(failure)) => {
            let log = log();
            Ok(TestStatus::Failed { failure, log })
        }
        Err(TestError::CouldNotJudge(error)) => Err(error),
    }
}

/// The progress of a scenario's tests.
pub(crate) enum Event {
    /// These begin, by their names.
    Begun(Vec<&'static str>),
    /// This one has ended.
    Ended(&'static str, TestStatus),
}

tokio::task_local! {
    /// The listener for the progress of a scenario.
    pub(crate) static HEARD: UnboundedSender<Event>;
}

fn tell(test: &ContractTest, status: &TestStatus) {
    // Without a listener, or once it is gone, the event is dropped.
    let _ = HEARD.try_with(|heard| heard.send(Event::Ended(test.name, status.clone())));
}
