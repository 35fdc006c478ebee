//! The command line: what its commands share, and those of learners.

pub mod attempts;
pub mod cli;
pub mod commands;
pub mod completions;
pub mod digest;
pub mod doctor;
pub mod documents;
pub mod editors;
pub mod front;
pub mod hints;
pub mod hunt;
pub mod judge;
pub mod katas;
pub mod keys;
pub mod programs;
pub mod references;
pub mod renumbered;
pub mod room;
pub mod signals;
pub mod state;
pub mod subject;
pub mod teller;
pub mod ways;
