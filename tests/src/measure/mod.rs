//! Measuring: the same work in both languages, gated, interleaved, with intervals.
//!
//! The tasks are [`reads`] (exercise 3), [`baseline`] (exercise 1), [`cold_start`] (exercise 2) and [`calibration`]. A task
//! builds its [`subject`]s, holds them against the [`gates`], runs a [`session`] of [`block`]s after the [`protocol`], turns
//! them into [`metrics`] and writes [`results`].

pub mod block;
pub mod database;
pub mod first_answer;
pub mod gates;
pub mod hyperfine;
pub mod ids;
pub mod machine;
pub mod manifest;
pub mod metrics;
pub mod oha;
pub mod predictions;
pub mod process;
pub mod progress;
pub mod protocol;
pub mod results;
pub mod session;
pub mod statistics;
pub mod subject;
pub mod tools;
pub mod warmup;
