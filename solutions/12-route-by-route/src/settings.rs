//! The settings of the service, read from environment variables once, at the start.

use std::{env, error::Error, fmt, net::IpAddr};

use rocket::figment::{
    self, Figment,
    providers::{Env, Serialized},
};
use serde::{Deserialize, Deserializer, de};
use tracing::{Level, level_filters::LevelFilter};

use crate::qrcode::TIMEOUT;

// ANCHOR: settings
/// Everything that can be set, checked: a service that has its `Settings` can start.
#[derive(Deserialize)]
pub struct Settings {
    /// `ADDRESS`: the address to listen on.
    pub address: IpAddr,
    /// `PORT`: the port to listen on.
    pub port: u16,
    /// `LOG_LEVEL`: what the service logs, `info` being each request.
    #[serde(deserialize_with = "level")]
    pub log_level: LevelFilter,
}

impl Settings {
    /// Reads the settings. What the environment does not say has the default that stands here.
    ///
    /// # Errors
    /// The value of a variable cannot be used.
    pub fn from_environment() -> Result<Settings, SettingsError> {
        Figment::from(Serialized::default("address", "127.0.0.1"))
            .merge(Serialized::default("port", 8080))
            .merge(Serialized::default("log_level", "warn"))
            .merge(Env::raw())
            .extract()
            .map_err(SettingsError::from)
    }

    /// The part of the settings that Rocket needs, in its own form.
    pub fn rocket(&self) -> Figment {
        rocket::Config::figment()
            .merge(("address", self.address))
            .merge(("port", self.port))
            // After SIGTERM nothing new is accepted. A running request may take as long as it may
            // wait for its image; then connections are closed.
            .merge(("shutdown.grace", TIMEOUT.as_secs() + 1))
            .merge(("shutdown.mercy", 1))
    }
}
// ANCHOR_END: settings

/// Reads the name of a log level.
fn level<'de, D: Deserializer<'de>>(value: D) -> Result<LevelFilter, D::Error> {
    let level = String::deserialize(value)?;
    let level: Level = level.parse().map_err(de::Error::custom)?;
    Ok(level.into())
}

/// A variable that stops the start, as one sentence for the person who set it.
#[derive(Debug)]
pub struct SettingsError {
    variable: String,
    trouble: String,
}

impl From<figment::Error> for SettingsError {
    fn from(error: figment::Error) -> SettingsError {
        let variable = error.path.join("_").to_uppercase();
        let trouble = match env::var(&variable) {
            Ok(value) => format!("is {value:?}, which cannot be used"),
            Err(_) => "cannot be used".into(),
        };
        SettingsError { variable, trouble }
    }
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SettingsError { variable, trouble } = self;
        let expected = match variable.as_str() {
            "ADDRESS" => "an IP address, such as 127.0.0.1 or 0.0.0.0",
            "PORT" => "a port number, 0 to 65535",
            "LOG_LEVEL" => "error, warn, info, debug or trace",
            _ => "a value of the right form",
        };
        write!(f, "{variable} {trouble}; set it to {expected}")
    }
}

impl Error for SettingsError {}
