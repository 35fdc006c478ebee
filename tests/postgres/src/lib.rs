//! PostgreSQL under the exercises: one server per checkout, from one of three providers, and the data sets on it.
//!
//! [`Server::ensure`] is the door: it takes the checkout's lock, asks the provider, and answers with a server that
//! accepts connections. Which provider that is decides [`choice`].
//!
//! Imports run one way, from the bottom of this list to its top: `identity`, `settings`, `connection`, `engine`, `server`;
//! what a data set is, `databases`; `account`, `configuration`, `binaries`, `home`, `maven`, `cluster`; the providers `url`, `docker` and `embedded`;
//! `choice`, `clean`; `datasets`.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "the numbers of a test run are small, and figures are rounded for people"
)]

pub mod datasets;

mod account;
mod binaries;
mod choice;
mod clean;
mod cluster;
mod configuration;
mod connection;
mod databases;
mod docker;
mod embedded;
mod engine;
mod home;
mod identity;
mod maven;
mod server;
mod settings;
mod url;

pub use binaries::Binaries;
pub use choice::file as choice_file;
pub use clean::{Cleaned, clean};
pub use engine::{
    OFFICIAL as OFFICIAL_IMAGE, answers as docker_engine, image_here as docker_image, save_image,
};
pub use identity::{checkout_id, short_hash};
pub use maven::{bring_artifact, find_binaries};
pub use server::Server;
pub use settings::{BinariesFrom, Provider, ProviderSettings};
