//! A service with short time limits. The tests run one after the other on it.

use std::time::Duration;

use super::{Place, Played, Scenario, When};
use crate::scenarios::ContractTest;

pub use super::asked as test;

/// `DATABASE_TIMEOUT_MS`: shorter than a connection may be idle and still be lent without a question. A request that is given up
/// then leaves a connection that nobody would ask.
const TIMEOUT: Duration = Duration::from_millis(400);

pub static SCENARIO: Scenario = Scenario {
    name: "impatient",
    when: When::Waiting,
    of_the_contract: true,
    play: |place, tests| Box::pin(play(place, tests)),
};

async fn play(place: &Place<'_>, tests: &[&ContractTest]) -> anyhow::Result<Played> {
    place.stage(TIMEOUT).await?.ask(tests).await
}
