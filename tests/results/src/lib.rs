//! Results: the files of measurements, their statistics, and how they are shown.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "the numbers of a test run are small, and figures are rounded for people"
)]

pub mod board;
pub mod comparison;
pub mod figures;
pub mod file;
pub mod growth;
pub mod guide;
pub mod key;
pub mod manifest;
pub mod metrics;
pub mod predictions;
pub mod question;
pub mod report;
pub mod shown;
pub mod statistics;
pub mod view;
pub mod write;
