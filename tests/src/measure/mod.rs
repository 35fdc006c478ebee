//! Measuring: the same work in both languages, gated, interleaved, with intervals.

pub mod manifest;
pub mod results;
