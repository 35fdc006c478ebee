//! A service that logs as much as it can. The tests run one after the other on it.

use super::stage::settings;
use super::{Place, Played, Scenario, When, steady};
use crate::scenarios::ContractTest;
use crate::service::Settings;

pub use super::asked as test;

pub static SCENARIO: Scenario = Scenario {
    name: "talkative",
    when: When::First,
    of_the_contract: true,
    play: |place, tests| Box::pin(play(place, tests)),
};

async fn play(place: &Place<'_>, tests: &[&ContractTest]) -> anyhow::Result<Played> {
    let settings = |database_url: &str| Settings {
        log_level: "trace".to_owned(),
        ..settings(database_url, steady::TIMEOUT)
    };
    place.stage_with(settings).await?.ask(tests).await
}
