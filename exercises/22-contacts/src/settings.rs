//! The settings of the service, read from environment variables once, at startup.

use std::{env, net::IpAddr, num::NonZeroU16, time::Duration};

use sqlx::postgres::{PgConnectOptions, PgSslMode};
use tracing::{Level, level_filters::LevelFilter};

use crate::users::Users;

// ANCHOR: settings
/// All settings, validated at startup, so invalid ones are reported before any request.
/// The struct doesn't implement `Debug`, because some settings are secret.
pub struct Settings {
    /// The address to listen on.
    pub address: IpAddr,
    /// The port to listen on.
    pub port: u16,
    /// The users with an address book, and their passwords.
    pub users: Users,
    /// The settings for the database and its pool.
    pub database: DatabaseSettings,
    /// The log level; with `info`, each request is logged.
    pub log_level: LevelFilter,
}

/// The settings for the database.
pub struct DatabaseSettings {
    /// How to connect to PostgreSQL: the address, the user and the password.
    pub url: PgConnectOptions,
    /// The maximum number of open connections.
    pub pool_size: NonZeroU16,
    /// The maximum time that a request waits for a connection.
    pub timeout: Duration,
    /// The maximum duration of one migration attempt.
    pub migration_timeout: Duration,
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
            users: secret("CONTACTS_USERS", users)?,
            database: DatabaseSettings {
                url: secret("DATABASE_URL", postgres_url)?,
                pool_size: setting("DATABASE_POOL_SIZE", "10", pool_size)?,
                timeout: setting("DATABASE_TIMEOUT_MS", "1000", milliseconds)?,
                migration_timeout: setting("MIGRATION_TIMEOUT_MS", "3600000", long_milliseconds)?,
            },
            log_level: setting("LOG_LEVEL", "warn", log_level)?,
        })
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

/// Reads a variable that has no default, because everyone who has read this course would know a default
/// password. The error message omits the value: messages end up in logs.
fn secret<T>(variable: &str, read: fn(&str) -> Result<T, Expected>) -> Result<T, String> {
    let text = env::var_os(variable).unwrap_or_default();
    read(text.to_str().unwrap_or_default()).map_err(|expected| {
        let trouble = if text.is_empty() {
            "is not set"
        } else {
            "cannot be used"
        };
        format!("{variable} {trouble}; set it to {expected}")
    })
}

fn ip_address(text: &str) -> Result<IpAddr, Expected> {
    text.parse()
        .map_err(|_| "an IP address, such as 127.0.0.1 or 0.0.0.0")
}

fn port(text: &str) -> Result<u16, Expected> {
    text.parse().map_err(|_| "a port number, 0 to 65535")
}

fn users(text: &str) -> Result<Users, Expected> {
    Users::read(text).ok_or("name:password,name:password (names of a-z, 0-9 and hyphens)")
}

/// Reads a `postgres://` URL. Checks more than sqlx, which also accepts other schemes and,
/// without the TLS feature, URLs that need TLS: the first request would then get a 500.
fn postgres_url(text: &str) -> Result<PgConnectOptions, Expected> {
    let is_postgres = text.starts_with("postgres://") || text.starts_with("postgresql://");
    match text.parse() {
        Ok(url) if is_postgres && asks_for_tls(&url) && cfg!(not(feature = "tls")) => {
            Err("a URL without TLS in its sslmode, or build this program with --features tls")
        }
        Ok(url) if is_postgres => Ok(without_brackets(url)),
        _ => Err("postgres://user:password@host:port/database \
                  (special characters in the password are percent-encoded)"),
    }
}

/// Strips the brackets from an IPv6 address: sqlx would pass them to the host name lookup.
fn without_brackets(url: PgConnectOptions) -> PgConnectOptions {
    let host = url.get_host().trim_matches(['[', ']']).to_owned();
    url.host(&host)
}

fn asks_for_tls(database: &PgConnectOptions) -> bool {
    match database.get_ssl_mode() {
        PgSslMode::Disable | PgSslMode::Allow | PgSslMode::Prefer => false,
        PgSslMode::Require | PgSslMode::VerifyCa | PgSslMode::VerifyFull => true,
    }
}

fn pool_size(text: &str) -> Result<NonZeroU16, Expected> {
    text.parse()
        .map_err(|_| "a whole number of connections, 1 to 65535")
}

// ANCHOR: milliseconds
/// Reads a time limit. Rejects less than 250 ms, because opening a connection can take that
/// long, and more than an hour, because the value was probably meant in a different unit.
fn milliseconds(text: &str) -> Result<Duration, Expected> {
    match text.parse() {
        Ok(limit @ 250..=3_600_000) => Ok(Duration::from_millis(limit)),
        _ => Err("a whole number of milliseconds, 250 to 3600000"),
    }
}
// ANCHOR_END: milliseconds

/// Reads a time limit of at most one day.
fn long_milliseconds(text: &str) -> Result<Duration, Expected> {
    match text.parse() {
        Ok(limit @ 250..=86_400_000) => Ok(Duration::from_millis(limit)),
        _ => Err("a whole number of milliseconds, 250 to 86400000"),
    }
}

fn log_level(text: &str) -> Result<LevelFilter, Expected> {
    let level: Level = text
        .parse()
        .map_err(|_| "error, warn, info, debug or trace")?;
    Ok(level.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_that_asks_for_tls_is_refused() {
        for (mode, accepted) in [("prefer", true), ("require", false), ("verify-full", false)] {
            let url = format!("postgres://user@db/records?sslmode={mode}");
            let accepted = accepted || cfg!(feature = "tls");
            assert_eq!(postgres_url(&url).is_ok(), accepted, "{mode}");
        }
    }
    #[test]
    fn the_host_of_a_url_is_looked_up_without_brackets() {
        for (host, in_url) in [("::1", "[::1]"), ("127.0.0.1", "127.0.0.1"), ("db", "db")] {
            let url = postgres_url(&format!("postgres://user@{in_url}:5432/contacts")).unwrap();
            assert_eq!(url.get_host(), host);
        }
    }
}
