//! The settings of the service, read from environment variables once, at startup.

use std::{env, net::IpAddr};

use rocket::figment::Figment;
use tracing::{Level, level_filters::LevelFilter};

use crate::qrcode::TIMEOUT;

// ANCHOR: settings
/// All settings, validated: a service that has its `Settings` can start.
pub struct Settings {
    /// The address to listen on.
    pub address: IpAddr,
    /// The port to listen on.
    pub port: u16,
    /// The log level; with `info`, each request is logged.
    pub log_level: LevelFilter,
}

impl Settings {
    /// Reads the settings. The defaults below apply to optional variables that aren't set.
    ///
    /// # Errors
    /// A variable is invalid. The message is a sentence for the person who set the variable.
    pub fn from_environment() -> Result<Settings, String> {
        Ok(Settings {
            address: setting("ADDRESS", "127.0.0.1", ip_address)?,
            port: setting("PORT", "8080", port)?,
            log_level: setting("LOG_LEVEL", "warn", log_level)?,
        })
    }

    /// Rocket's configuration, built from these settings.
    pub fn rocket(&self) -> Figment {
        rocket::Config::figment()
            .merge(("address", self.address))
            .merge(("port", self.port))
            // After SIGTERM, no new requests are accepted. Requests in flight get a grace period one
            // second longer than the image timeout; then their connections are closed.
            .merge(("shutdown.grace", TIMEOUT.as_secs() + 1))
            .merge(("shutdown.mercy", 1))
    }
}
// ANCHOR_END: settings

/// Describes the values that a variable accepts, for the person who sets it.
type Expected = &'static str;

// ANCHOR: setting
/// Reads a variable, or uses the default if the variable isn't set.
fn setting<T>(
    variable: &str,
    default: &str,
    read: fn(&str) -> Result<T, Expected>,
) -> Result<T, String> {
    let text = env::var_os(variable).unwrap_or_else(|| default.into());
    read(&text.to_string_lossy()).map_err(|expected| {
        format!("{variable} is {text:?}, which cannot be used; set it to {expected}")
    })
}
// ANCHOR_END: setting

fn ip_address(text: &str) -> Result<IpAddr, Expected> {
    text.parse()
        .map_err(|_| "an IP address, such as 127.0.0.1 or 0.0.0.0")
}

fn port(text: &str) -> Result<u16, Expected> {
    text.parse().map_err(|_| "a port number, 0 to 65535")
}

fn log_level(text: &str) -> Result<LevelFilter, Expected> {
    let level: Level = text
        .parse()
        .map_err(|_| "error, warn, info, debug or trace")?;
    Ok(level.into())
}
