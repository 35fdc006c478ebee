//! A service that logs as much as it can. The tests run one after the other on it.

use super::stage::settings;
use super::{Scenario, When, steady};
use crate::service::Settings;

pub use super::asked as test;

pub static SCENARIO: Scenario = Scenario::new("talkative", When::First, 1, |place, tests| {
    let settings = Settings {
        log_level: "trace".to_owned(),
        ..settings(steady::TIMEOUT)
    };
    Box::pin(async move { place.stage_with(settings).await?.ask(tests).await })
});
