//! The command line: what its commands share.

pub mod attempts;
pub mod chain;
pub mod cli;
pub mod commands;
pub mod doctor;
pub mod hints;
pub mod katas;
pub mod mistakes;
pub mod predict;
pub mod state;
