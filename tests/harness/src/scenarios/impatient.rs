//! A service with short time limits. The tests run one after the other on it.

use std::time::Duration;

use super::{Scenario, When};

pub use super::asked as test;

/// `DATABASE_TIMEOUT_MS`: shorter than a connection may be idle and still be lent without a ping. A request that is given up
/// then leaves a connection that no query would use.
const TIMEOUT: Duration = Duration::from_millis(400);

pub static SCENARIO: Scenario = Scenario::new("impatient", When::Waiting, 3, |place, tests| {
    Box::pin(async { place.stage(TIMEOUT).await?.ask(tests).await })
});
