//! The suites of exercise 24, one per stage: reports about the trail, each made once, read in pages, changed by clients
//! that know the version, even on bad days. They know only the HTTP of a service, so any framework can pass them.
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
