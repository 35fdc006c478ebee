//! Energy: where joules come from, and what can be made of them.
//!
//! A [`source`] is read again and again while something runs, which the [`meter`] does; the [`interval`] makes joules of what was
//! read. [`find`] looks for the best source of this machine, [`workshop_suites::forms::energy`] is what the reader filled in, and [`cost`] has the formulas
//! for CO₂ and for servers. The [`task`] of exercise 23 takes all of them together.

pub mod cost;
pub mod find;
pub mod interval;
pub mod meter;
pub mod rapl;
pub mod source;
pub mod task;
pub mod wattmeter;
