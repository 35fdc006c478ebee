//! The workshop's tool as a library: what the command line, the contract suites and the book's preprocessor share.

pub mod attempts;
pub mod book;
pub mod chain;
pub mod cli;
pub mod commands;
pub mod datasets;
pub mod doctor;
pub mod exercise;
pub mod files;
pub mod harness;
pub mod hints;
pub mod jdk;
pub mod measure;
pub mod mistakes;
pub mod originals;
pub mod outcome;
pub mod patches;
pub mod postgres;
pub mod scratch;
pub mod state;
pub mod suites;
pub mod target;
pub mod terminal;
pub mod workspace;
