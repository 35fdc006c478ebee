//! The same service as in `seen`, which keeps a quarter of the traces that begin with it, and writes only errors.

use super::{Scenario, When, seen};

pub use super::seen::test;

/// The percentage of traces that are kept.
const PERCENT: u8 = 25;

pub static SCENARIO: Scenario = Scenario {
    of_the_contract: true,
    ..Scenario::new("seen_quietly", When::Waiting, 3, |place, tests| {
        Box::pin(seen::play(place, tests, "error", PERCENT))
    })
};
