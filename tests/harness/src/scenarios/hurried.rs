//! A service as in the scenario `large`, with a short deadline for exports. The tests run one after the other on it.

use std::time::Duration;

use super::{Scenario, When, large, stage};
use crate::service::Settings;
use workshop_postgres::datasets::RunDatabase;

pub use super::asked as test;

/// `EXPORT_DEADLINE_MS`: much shorter than an export may wait for its client at any time, so that the two can be told apart on a
/// slow machine too.
const DEADLINE: Duration = Duration::from_secs(2);
/// `EXPORT_TIMEOUT_MS`.
const TIMEOUT: Duration = Duration::from_secs(20);

pub static SCENARIO: Scenario = Scenario::new("hurried", When::Waiting, 4, |place, tests| {
    Box::pin(async move {
        let settings = Settings {
            export_deadline: DEADLINE,
            export_timeout: TIMEOUT,
            ..stage::settings(large::TIMEOUT)
        };
        let database = RunDatabase::large(place.server).await?;
        place.stage_on(database, settings).await?.ask(tests).await
    })
});
