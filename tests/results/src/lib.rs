//! Results: the files of measurements, their statistics, and how they are shown.

pub mod article_table;
pub mod file;
pub mod findings;
pub mod ladder_table;
pub mod manifest;
pub mod metrics;
pub mod predictions;
pub mod shown;
pub mod statistics;
pub mod table;
