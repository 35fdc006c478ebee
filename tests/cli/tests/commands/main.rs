//! The command line, as learners use it: what it says and does, on small courses in temporary folders and on this one. One program, since
//! each would link the whole tool. `cargo test --package workshop --test commands -- learner::` runs one file of them.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "the numbers of a test run are small, and figures are rounded for people"
)]

mod checking;
#[path = "../../../postgres/tests/checkout/mod.rs"]
mod checkout;
mod contacts_client;
mod contacts_worst;
mod database;
mod drill;
mod environment;
mod folder;
mod full_disk;
mod help;
mod home;
mod justw;
mod kotlin_words;
mod learner;
mod manifests;
mod own;
mod prepare;
mod remarks;
mod robustness;
mod signals;
mod tls;

/// The program that is tested.
const TOOL: &str = env!("CARGO_BIN_EXE_workshop");
