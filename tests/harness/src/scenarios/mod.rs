//! What the tests of a suite need around a service.

pub mod first_start;
pub mod outage;
pub mod restart;
pub mod short_runs;
pub mod shutdown;
pub mod silence;
pub mod workbench;
