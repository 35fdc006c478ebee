//! Measuring: the same work in both languages, gated, interleaved, with intervals.
//!
//! [`tools`] are wrappers of the programs that measure (oha, hyperfine, pgbench), [`protocol`] is how a comparison is made
//! (gates, blocks in rounds, warm-up, manifest), and [`tables`] shows the sides by their metrics. What is measured is data here:
//! `rows.toml` says who, `plans.toml` how much, `metrics.toml` what. What is a task's own is in `workshop-tasks`.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "the numbers of a test run are small, and figures are rounded for people"
)]

pub mod protocol;
pub mod tables;
pub mod tools;
