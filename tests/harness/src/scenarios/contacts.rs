//! A service with address books and a healthy database. The tests run one after the other on it, each with contacts of its own.

use super::{Scenario, When, steady};

pub use super::asked as test;

pub static SCENARIO: Scenario = Scenario {
    of_the_contract: false,
    ..Scenario::new("contacts", When::First, 2, |place, tests| {
        Box::pin(async { place.stage(steady::TIMEOUT).await?.ask(tests).await })
    })
};
