//! A service that keeps everything in memory. The tests run one after the other on it, each with bunks of its own.

use super::{Scenario, When};
use std::time::Duration;

pub use super::asked as test;

/// It has no database to wait for.
const TIMEOUT: Duration = Duration::from_secs(1);

pub static SCENARIO: Scenario = Scenario {
    of_the_contract: false,
    ..Scenario::new("bunks", When::First, 3, |place, tests| {
        Box::pin(async move { place.stage(TIMEOUT).await?.ask(tests).await })
    })
};
