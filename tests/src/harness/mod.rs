//! The harness: targets built and started, requests made, the database cut off and given back, failures told.

pub mod build;
pub mod copies;
pub mod failure;
pub mod first_start;
pub mod http;
pub mod outage;
pub mod proxy;
pub mod report;
pub mod run;
pub mod service;
