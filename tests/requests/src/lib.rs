//! Requests, the answers to them, and what is said when an answer is not the contract's.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "the numbers of a test run are small, and figures are rounded for people"
)]

mod answer;
pub mod connection;
mod download;
pub mod failure;
pub mod http;
pub mod qr;
pub mod socket;
