//! The workshop's tool as a library: what the command line, the contract suites and the book's preprocessor share.

pub mod book;
pub mod cli;
pub mod commands;
pub mod datasets;
pub mod exercise;
pub mod harness;
pub mod jdk;
pub mod measure;
pub mod outcome;
pub mod postgres;
pub mod suites;
pub mod target;
pub mod terminal;
pub mod workspace;
