//! A service with a healthy database. The tests run one after the other on it.

use std::time::Duration;

use super::{Place, Played, Scenario, When};
use crate::scenarios::ContractTest;

pub use super::asked as test;

/// `DATABASE_TIMEOUT_MS`: nothing should come near it. A service may take twice as long to stop.
pub const TIMEOUT: Duration = Duration::from_secs(2);

pub static SCENARIO: Scenario = Scenario {
    name: "steady",
    when: When::First,
    of_the_contract: true,
    play: |place, tests| Box::pin(play(place, tests)),
};

async fn play(place: &Place<'_>, tests: &[&ContractTest]) -> anyhow::Result<Played> {
    place.stage(TIMEOUT).await?.ask(tests).await
}
