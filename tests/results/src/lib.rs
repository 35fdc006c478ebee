//! Results: the files of measurements, their statistics, and how they are shown.

pub mod board;
pub mod comparison;
pub mod figures;
pub mod file;
pub mod growth;
pub mod guide;
pub mod manifest;
pub mod metrics;
pub mod predictions;
pub mod report;
pub mod shown;
pub mod statistics;
pub mod view;
pub mod write;
