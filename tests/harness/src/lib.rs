//! The harness: targets built and started, requests made, the database taken away in three ways and given back, failures told.

pub mod build;
pub mod container;
pub mod contract;
pub mod copies;
pub mod failure;
pub mod first_start;
pub mod front;
pub mod glue;
pub mod http;
pub mod jdk;
pub mod nginx;
pub mod outage;
pub mod plan;
pub mod proxy;
pub mod qr;
pub mod report;
pub mod restart;
pub mod run;
pub mod service;
pub mod short_runs;
pub mod shutdown;
pub mod silence;
pub mod sockets;
pub mod stand_in;
pub mod wasm;
pub mod workbench;
