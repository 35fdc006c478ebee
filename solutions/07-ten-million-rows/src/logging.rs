//! Logging to standard error: the launch, warnings and errors.

use log::LevelFilter;

// ANCHOR: logging
/// Sets up logging. Must run before Rocket sets up its own logger.
///
/// Two modules of Rocket are silenced, because they log whole URLs, and the query of a URL can
/// contain a key. A panic in a handler is still reported, by the panic message itself.
pub fn start() {
    env_logger::Builder::new()
        .filter_level(LevelFilter::Warn)
        .filter_module("rocket::server", LevelFilter::Off)
        .filter_module("rocket::request", LevelFilter::Off)
        .init();
}
// ANCHOR_END: logging
