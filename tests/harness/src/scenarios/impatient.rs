//! A service with the shortest time limits. The tests run one after the other on it.

use super::silence::{ANSWER_LIMIT_IN_TROUBLE, SHORT_TIMEOUT};
use super::{Place, Played, Scenario, When};
use crate::scenarios::ContractTest;

pub use super::asked as test;

pub static SCENARIO: Scenario = Scenario {
    name: "impatient",
    when: When::Waiting,
    of_the_contract: true,
    play: |place, tests| Box::pin(play(place, tests)),
};

async fn play(place: &Place<'_>, tests: &[&ContractTest]) -> anyhow::Result<Played> {
    let mut stage = place.stage(SHORT_TIMEOUT).await?;
    stage.context.client = stage.context.client.within(ANSWER_LIMIT_IN_TROUBLE);
    stage.ask(tests).await
}
