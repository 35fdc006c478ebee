//! Measuring: the same work in both languages, gated, interleaved, with intervals.
