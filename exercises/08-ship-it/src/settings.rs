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
use sqlx::postgres::{PgConnectOptions, PgSslMode};
use tracing::{Level, level_filters::LevelFilter};

/// The largest body that is read as JSON, in bytes.
pub const MAX_BODY_BYTES: usize = 32 * 1024;

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
    /// `MIGRATION_TIMEOUT_MS`: the longest that an attempt to migrate may take.
    #[serde(rename = "migration_timeout_ms", deserialize_with = "milliseconds")]
    pub migration_timeout: Duration,
    /// `EXPORT_TIMEOUT_MS`: the longest that an export waits for its client.
    #[serde(rename = "export_timeout_ms", deserialize_with = "milliseconds")]
    pub export_timeout: Duration,
    /// `LOG_LEVEL`: what the service logs, `info` being each request.
    #[serde(deserialize_with = "level")]
    pub log_level: LevelFilter,
}

impl Settings {
    /// Reads the settings. What the environment does not say has the default that stands here.
    ///
    /// # Errors
    /// A variable has no value and no default, or its value cannot be used.
    pub fn from_environment() -> Result<Settings, SettingsError> {
        let settings: Settings = Figment::from(Serialized::default("address", "127.0.0.1"))
            .merge(Serialized::default("port", 8080))
            .merge(Serialized::default("database_pool_size", 10))
            .merge(Serialized::default("database_timeout_ms", 1000))
            .merge(Serialized::default("migration_timeout_ms", 600_000))
            .merge(Serialized::default("export_timeout_ms", 10_000))
            .merge(Serialized::default("log_level", "warn"))
            .merge(Env::raw())
            .merge(api_keys())
            .extract()?;
        if cfg!(not(feature = "tls")) {
            refuse_tls(&settings.database)?;
        }
        Ok(settings)
    }

    /// The part of the settings that Rocket needs, in its own form.
    pub fn rocket(&self) -> Figment {
        rocket::Config::figment()
            .merge(("address", self.address))
            .merge(("port", self.port))
            .merge(("limits.json", MAX_BODY_BYTES))
            // Seconds after SIGTERM: for running requests to finish, then for connections to close.
            .merge(("shutdown.grace", 1))
            .merge(("shutdown.mercy", 1))
    }
}
// ANCHOR_END: settings

/// `API_KEYS` as it is: `Env` would take a key of digits for a number. It has no default. Everyone who
/// has read this course would know the key of a service whose owner forgot to set one.
fn api_keys() -> Figment {
    match env::var("API_KEYS") {
        Ok(keys) => Figment::from(("api_keys", keys)),
        Err(VarError::NotPresent) => Figment::new(),
        Err(VarError::NotUnicode(_)) => Figment::from(("api_keys", "")), // no key, so refused
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

/// Refuses what sqlx would only notice at the first connection, and a client as a 500.
fn refuse_tls(database: &PgConnectOptions) -> Result<(), SettingsError> {
    match database.get_ssl_mode() {
        PgSslMode::Disable | PgSslMode::Allow | PgSslMode::Prefer => Ok(()),
        PgSslMode::Require | PgSslMode::VerifyCa | PgSslMode::VerifyFull => Err(SettingsError {
            variable: "DATABASE_URL".into(),
            trouble: "asks for TLS by its sslmode, and this program is built without TLS \
                      (build it with --features tls)"
                .into(),
        }),
    }
}

/// Reads a time limit. One below 250 ms is refused: opening a connection may take as long. One above
/// an hour was meant in another unit.
fn milliseconds<'de, D: Deserializer<'de>>(value: D) -> Result<Duration, D::Error> {
    match u64::deserialize(value)? {
        limit @ 250..=3_600_000 => Ok(Duration::from_millis(limit)),
        other => Err(de::Error::custom(format!("{other} ms is no time limit"))),
    }
}

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
            "DATABASE_TIMEOUT_MS" | "MIGRATION_TIMEOUT_MS" | "EXPORT_TIMEOUT_MS" => {
                "a whole number of milliseconds, 250 to 3600000"
            }
            "LOG_LEVEL" => "error, warn, info, debug or trace",
            _ => "a value of the right form",
        };
        write!(f, "{variable} {trouble}; set it to {expected}")
    }
}

impl Error for SettingsError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_that_asks_for_tls_is_refused() {
        for (mode, accepted) in [("prefer", true), ("require", false), ("verify-full", false)] {
            let url = format!("postgres://user@db/records?sslmode={mode}");
            let result = refuse_tls(&url.parse().unwrap());
            assert_eq!(result.is_ok(), accepted, "{mode}");
        }
    }
}
