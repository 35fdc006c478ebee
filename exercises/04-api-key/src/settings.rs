//! The settings of the service, read from environment variables once, at the start.

use std::{
    env::{self, VarError},
    error::Error,
    fmt,
    net::IpAddr,
    num::NonZeroU16,
    str::FromStr,
    time::Duration,
};

use rocket::figment::{
    self, Figment,
    error::Kind,
    providers::{Env, Serialized},
};
use serde::{Deserialize, Deserializer, de};
use sqlx::postgres::PgConnectOptions;

// ANCHOR: settings
/// Everything that can be set, checked: a service that has its `Settings` can start. No `Debug`:
/// some of it is secret.
#[derive(Deserialize)]
pub struct Settings {
    /// `ADDRESS`: the address to listen on.
    pub address: IpAddr,
    /// `PORT`: the port to listen on.
    pub port: u16,
    /// `API_KEYS`: the keys that count.
    #[serde(deserialize_with = "keys")]
    pub api_keys: Vec<String>,
    /// `DATABASE_URL`: where PostgreSQL is, and with which user and password to go there.
    #[serde(rename = "database_url", deserialize_with = "postgres_url")]
    pub database: PgConnectOptions,
    /// `DATABASE_POOL_SIZE`: the most connections that are open at the same time.
    pub database_pool_size: NonZeroU16,
    /// `DATABASE_TIMEOUT_MS`: the longest that a request waits for a connection.
    #[serde(rename = "database_timeout_ms", deserialize_with = "milliseconds")]
    pub database_timeout: Duration,
}

impl Settings {
    /// Reads the settings. What the environment does not say has the default that stands here.
    ///
    /// # Errors
    /// A variable has no value and no default, or its value cannot be used.
    pub fn from_environment() -> Result<Settings, SettingsError> {
        Figment::from(Serialized::default("address", "127.0.0.1"))
            .merge(Serialized::default("port", 8080))
            .merge(Serialized::default("database_pool_size", 10))
            .merge(Serialized::default("database_timeout_ms", 1000))
            .merge(Env::raw())
            .merge(Serialized::default("api_keys", api_keys()))
            .extract()
            .map_err(SettingsError::from)
    }

    /// The part of the settings that Rocket needs, in its own form.
    pub fn rocket(&self) -> Figment {
        rocket::Config::figment()
            .merge(("address", self.address))
            .merge(("port", self.port))
            // Seconds after SIGTERM: for running requests to finish, then for connections to close.
            .merge(("shutdown.grace", 1))
            .merge(("shutdown.mercy", 1))
    }
}
// ANCHOR_END: settings

/// `API_KEYS` as it is, or its default. `Env` would take a key of digits for a number.
fn api_keys() -> String {
    match env::var("API_KEYS") {
        Ok(keys) => keys,
        Err(VarError::NotPresent) => "valid_key".into(),
        Err(VarError::NotUnicode(_)) => String::new(), // no key, so the start is refused
    }
}

/// Reads keys between commas. An empty one is refused: an empty header would be a valid key.
fn keys<'de, D: Deserializer<'de>>(value: D) -> Result<Vec<String>, D::Error> {
    let keys = String::deserialize(value)?;
    let keys: Vec<String> = keys.split(',').map(|key| key.trim().to_owned()).collect();
    if keys.iter().any(String::is_empty) {
        return Err(de::Error::custom("an empty key"));
    }
    Ok(keys)
}

/// Reads a `postgres://` URL.
fn postgres_url<'de, D: Deserializer<'de>>(value: D) -> Result<PgConnectOptions, D::Error> {
    let url = String::deserialize(value)?;
    if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
        return Err(de::Error::custom("not a PostgreSQL URL"));
    }
    PgConnectOptions::from_str(&url).map_err(de::Error::custom)
}

/// Reads a time limit. One below 250 ms is refused: opening a connection may take as long.
fn milliseconds<'de, D: Deserializer<'de>>(value: D) -> Result<Duration, D::Error> {
    match u64::deserialize(value)? {
        too_short @ ..250 => Err(de::Error::custom(format!("{too_short} ms is too short"))),
        limit => Ok(Duration::from_millis(limit)),
    }
}

/// A variable that stops the start, as one sentence for the person who set it.
#[derive(Debug)]
pub struct SettingsError {
    variable: String,
    trouble: String,
}

impl From<figment::Error> for SettingsError {
    fn from(error: figment::Error) -> SettingsError {
        if let Kind::MissingField(field) = &error.kind {
            return SettingsError {
                variable: field.to_uppercase(),
                trouble: "is not set".into(),
            };
        }
        let variable = error.path.join("_").to_uppercase();
        let trouble = match env::var(&variable) {
            // These hold secrets, and what is said here ends up in logs.
            _ if ["API_KEYS", "DATABASE_URL"].contains(&variable.as_str()) => {
                "cannot be used".into()
            }
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
            "API_KEYS" => "keys, separated by single commas",
            "DATABASE_URL" => {
                "postgres://user:password@host:port/database \
                 (special characters in the password are percent-encoded)"
            }
            "DATABASE_POOL_SIZE" => "a whole number of connections, 1 to 65535",
            "DATABASE_TIMEOUT_MS" => "a whole number of milliseconds, 250 or more",
            _ => "a value of the right form",
        };
        write!(f, "{variable} {trouble}; set it to {expected}")
    }
}

impl Error for SettingsError {}
