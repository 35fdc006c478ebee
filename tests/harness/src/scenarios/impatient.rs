//! A service with short time limits, yet long enough for a new connection on a busy machine. The tests run one after the other
//! on it.

use std::time::Duration;

use super::{Place, Played, Scenario, When};
use crate::scenarios::ContractTest;

pub use super::asked as test;

/// `DATABASE_TIMEOUT_MS`.
const TIMEOUT: Duration = Duration::from_millis(800);

pub static SCENARIO: Scenario = Scenario {
    name: "impatient",
    when: When::Waiting,
    of_the_contract: true,
    play: |place, tests| Box::pin(play(place, tests)),
};

async fn play(place: &Place<'_>, tests: &[&ContractTest]) -> anyhow::Result<Played> {
    place.stage(TIMEOUT).await?.ask(tests).await
}
