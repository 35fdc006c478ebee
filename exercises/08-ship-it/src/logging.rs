//! Logging to standard error.

use std::io;

use tracing::level_filters::LevelFilter;
use tracing_subscriber::fmt;

use crate::rocket_log;

// ANCHOR: logging
/// Sets up logging for everything at `level` or above.
pub fn start(level: LevelFilter) {
    fmt().with_max_level(level).with_writer(io::stderr).init();
    rocket_log::listen();
}
// ANCHOR_END: logging
