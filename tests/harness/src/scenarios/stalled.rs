//! A service as in the scenario `large`. Its tests wait for the time limit of an export, beside those of `large`.

use super::{Scenario, When, large};

pub use super::asked as test;

pub static SCENARIO: Scenario = Scenario::new("stalled", When::Waiting, 5, |place, tests| {
    Box::pin(async { large::stage(place, large::TIMEOUT).await?.ask(tests).await })
});
