//! The harness: targets built and started, the database taken away and given back, failures told.
//!
//! `build` makes a launch of a target, `service` runs it and what surrounds it, and `scenarios` are what the tests of a suite
//! need around it.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "the numbers of a test run are small, and figures are rounded for people"
)]

pub mod build;
pub mod contract;
pub mod plan;
pub mod report;
pub mod run;
pub mod scenarios;
pub mod service;

pub use build::{copies, glue, jdk, wasm};
pub use scenarios::issuer as tokens;
pub use scenarios::{
    cases, contacts_faults, first_start, hang, incident, issuer_away, leak, outage,
    own as workbench, partings, peers, releases, reports_faults, reports_releases,
    reports_strangers, restart, schema_change, seen, seen_last, short_runs, shutdown, silence,
    silences, supplied, two_releases, two_services, wrong,
};
pub use service::{
    collector, front, issuer, nginx, otlp, proxy, signer, sockets, stand_in, upstream,
};
pub use workshop_requests::{failure, http, qr, socket};
