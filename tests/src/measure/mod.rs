//! Measuring: the same work in both languages, gated, interleaved, with intervals.

pub mod hyperfine;
pub mod manifest;
pub mod oha;
pub mod predictions;
pub mod process;
pub mod results;
pub mod statistics;
pub mod tools;
pub mod warmup;
