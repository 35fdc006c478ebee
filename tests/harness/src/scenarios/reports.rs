//! A service with a database of its own, which was empty when it started: everything in it comes from the service.

use super::{Place, Played, Scenario, When, stage};
use crate::scenarios::ContractTest;
use std::time::Duration;
use workshop_postgres::datasets::RunDatabase;

pub use super::asked as test;

/// `DATABASE_TIMEOUT_MS`: longer than any answer takes here.
const TIMEOUT: Duration = Duration::from_secs(5);

pub static SCENARIO: Scenario = Scenario {
    of_the_contract: false,
    ..Scenario::new("reports", When::First, 8, |place, tests| {
        Box::pin(play(place, tests))
    })
};

async fn play(place: &Place<'_>, tests: &[&ContractTest]) -> anyhow::Result<Played> {
    let database = RunDatabase::empty(place.server).await?;
    let stage = place.stage_on(database, stage::settings(TIMEOUT)).await?;
    stage.ask(tests).await
}
