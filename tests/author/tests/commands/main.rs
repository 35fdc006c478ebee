//! The command line beyond what learners do: the book, the lab, and what authors do. One program, since each would link the whole tool.
//! `cargo test --package workshop-author --test commands -- chain::` runs one file of them.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "the numbers of a test run are small, and figures are rounded for people"
)]

mod add_an_exercise;
mod at;
mod book;
mod chain;
#[path = "../../../postgres/tests/checkout/mod.rs"]
mod checkout;
mod editors;
mod endurance;
#[path = "../../../cli/tests/commands/folder.rs"]
mod folder;
mod lab;
mod leak;
mod report;

/// The program that has every command.
const TOOL: &str = env!("CARGO_BIN_EXE_workshop-author");
