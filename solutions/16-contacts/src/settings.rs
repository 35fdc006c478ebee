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

use figment::{
    Figment,
    error::Kind,
    providers::{Env, Serialized},
};
use serde::{Deserialize, Deserializer, de};
use sqlx::postgres::{PgConnectOptions, PgSslMode};
use tracing::{Level, level_filters::LevelFilter};

use crate::users::Users;

// ANCHOR: settings
/// Everything that can be set, checked: a service that has its `Settings` can start. No `Debug`:
/// some of it is secret.
#[derive(Deserialize)]
pub struct Settings {
    /// `ADDRESS`: the address to listen on.
    pub address: IpAddr,
    /// `PORT`: the port to listen on.
    pub port: u16,
    /// `CONTACTS_USERS`: who has an address book, and with which password.
    #[serde(rename = "contacts_users")]
    pub users: Users,
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
            .merge(Serialized::default("log_level", "warn"))
            .merge(Env::raw())
            .merge(contacts_users())
            .extract()?;
        if cfg!(not(feature = "tls")) {
            refuse_tls(&settings.database)?;
        }
        Ok(settings)
    }
}
// ANCHOR_END: settings

/// `CONTACTS_USERS` as it is: `Env` would take the brackets of a password for a list. It has no default. Everyone who has read
/// this course would know the password of a service whose owner forgot to set one.
fn contacts_users() -> Figment {
    match env::var("CONTACTS_USERS") {
        Ok(users) => Figment::from(("contacts_users", users)),
        Err(VarError::NotPresent) => Figment::new(),
        Err(VarError::NotUnicode(_)) => Figment::from(("contacts_users", "")), // nobody, so refused
    }
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
            _ if ["CONTACTS_USERS", "DATABASE_URL"].contains(&variable.as_str()) => {
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
            "CONTACTS_USERS" => "name:password,name:password (names of a-z, 0-9 and hyphens)",
            "DATABASE_URL" => {
                "postgres://user:password@host:port/database \
                 (special characters in the password are percent-encoded)"
            }
            "DATABASE_POOL_SIZE" => "a whole number of connections, 1 to 65535",
            name if name.ends_with("_MS") => "a whole number of milliseconds, 250 to 3600000",
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
