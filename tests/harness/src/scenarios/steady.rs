//! A service with a healthy database. The tests run one after the other on it.

use std::time::Duration;

use super::{Scenario, When};

pub use super::asked as test;

/// `DATABASE_TIMEOUT_MS`: nothing should come near it. A service may take twice as long to stop.
pub const TIMEOUT: Duration = Duration::from_secs(2);

pub static SCENARIO: Scenario = Scenario::new("steady", When::First, 2, |place, tests| {
    Box::pin(async { place.stage(TIMEOUT).await?.ask(tests).await })
});
