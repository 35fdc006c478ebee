//! The command line: what its commands share.

pub mod attempts;
pub mod chain;
pub mod cli;
pub mod commands;
pub mod doctor;
pub mod editors;
pub mod gate;
pub mod hints;
pub mod hunt;
pub mod judge;
pub mod katas;
pub mod references;
pub mod room;
pub mod state;
pub mod subject;
pub mod verdicts;
pub mod ways;
