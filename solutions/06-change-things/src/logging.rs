//! The log: warnings and errors, on standard error, and the launch.

use log::LevelFilter;

// ANCHOR: logging
/// Sets up the log, before Rocket sets up its own.
///
/// Two parts of Rocket write whole URLs into the log, and the query of a URL may hold a key: these
/// are silenced. A panic in a handler is still reported, by the panic's own message.
pub fn start() {
    env_logger::Builder::new()
        .filter_level(LevelFilter::Warn)
        .filter_module("rocket::server", LevelFilter::Off)
        .filter_module("rocket::request", LevelFilter::Off)
        .init();
}
// ANCHOR_END: logging
