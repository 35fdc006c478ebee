//! The suites of exercise 24, one for each stage that is judged: reports about the trail, each made once, read in pages, changed by those
//! who know it, also in bad days. They know nothing of the service but HTTP, so any framework passes them.
//!
//! Every test makes reports of a tag of its own, so none sees another one's.

mod asking;
pub mod bad_days;
pub mod later_releases;
pub mod pages_and_edits;
pub mod reports_once;
pub mod start_and_stop;
pub mod strangers;
pub mod the_frame;
