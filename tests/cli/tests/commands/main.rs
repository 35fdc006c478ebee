//! The command line, as people use it: what it says and does, on small courses in temporary folders and on this one. One program, since
//! each would link the whole tool. `cargo test --package workshop --test commands -- learner::` runs one file of them.

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
mod contacts_client;
mod contacts_worst;
mod database;
mod drill;
mod editors;
mod endurance;
mod environment;
mod folder;
mod full_disk;
mod home;
mod justw;
mod kotlin_words;
mod leak;
mod learner;
mod manifests;
mod own;
mod prepare;
mod report;
mod robustness;
mod signals;
mod tls;
