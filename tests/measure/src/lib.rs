//! Measuring: the same work in both languages, gated, interleaved, with intervals.
//!
//! [`tools`] are wrappers of the programs that measure (oha, hyperfine, pgbench), [`protocol`] is how a comparison is made
//! (gates, blocks in rounds, warm-up, manifest), and [`tasks`] has one file per measurement: what it loads, what it varies,
//! what it says. [`energy`] is where joules come from, and [`endurance`] takes hours and can be stopped and carried on.

pub mod endurance;
pub mod energy;
pub mod protocol;
pub mod tables;
pub mod tasks;
pub mod tools;
