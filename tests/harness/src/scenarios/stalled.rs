//! A service as in the scenario `large`. Its tests wait for the time limit of an export, beside those of `large`.

use super::{Place, Played, Scenario, When, large};
use crate::contract::ContractTest;

pub use super::asked as test;

pub static SCENARIO: Scenario = Scenario {
    name: "stalled",
    when: When::Waiting,
    of_the_contract: true,
    play: |place, tests| Box::pin(play(place, tests)),
};

async fn play(place: &Place<'_>, tests: &[&ContractTest]) -> anyhow::Result<Played> {
    large::stage(place, large::TIMEOUT).await?.ask(tests).await
}
