//! The settings of the service, read from environment variables once, at startup.

use std::{env, net::IpAddr, num::NonZeroU16, time::Duration};

use rocket::figment::Figment;
use sqlx::postgres::PgConnectOptions;

// ANCHOR: settings
/// All settings, validated at startup, so invalid ones are reported before any request.
/// The struct doesn't implement `Debug`, because some settings are secret.
pub struct Settings {
    /// The address to listen on.
    pub address: IpAddr,
    /// The port to listen on.
    pub port: u16,
    /// The valid API keys.
    pub api_keys: Vec<String>,
    /// The settings for the database and its pool.
    pub database: DatabaseSettings,
}

/// The settings for the database.
pub struct DatabaseSettings {
    /// How to connect to PostgreSQL: the address, the user and the password.
    pub url: PgConnectOptions,
    /// The maximum number of open connections.
    pub pool_size: NonZeroU16,
    /// The maximum time that a request waits for a connection.
    pub timeout: Duration,
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
            api_keys: match env::var_os("API_KEYS") {
                Some(_) => secret("API_KEYS", keys)?,
                None => vec!["valid_key".into()],
            },
            database: DatabaseSettings {
                url: secret("DATABASE_URL", postgres_url)?,
                pool_size: setting("DATABASE_POOL_SIZE", "10", pool_size)?,
                timeout: setting("DATABASE_TIMEOUT_MS", "1000", milliseconds)?,
            },
        })
    }

    /// Rocket's configuration, built from these settings.
    pub fn rocket(&self) -> Figment {
        rocket::Config::figment()
            .merge(("address", self.address))
            .merge(("port", self.port))
            // After SIGTERM, requests in flight have 1 s to finish, then connections have 1 s to close.
            .merge(("shutdown.grace", 1))
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

/// Reads a variable that has no default. Errors omit the value, because errors end up in logs.
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

/// Reads comma-separated keys. Rejects empty keys, because an empty header would match one.
fn keys(text: &str) -> Result<Vec<String>, Expected> {
    let keys: Vec<String> = text.split(',').map(|key| key.trim().to_owned()).collect();
    if keys.iter().any(String::is_empty) {
        return Err("keys, separated by single commas");
    }
    Ok(keys)
}

/// Reads a `postgres://` URL. Checks the scheme, because sqlx also accepts other schemes.
fn postgres_url(text: &str) -> Result<PgConnectOptions, Expected> {
    let is_postgres = text.starts_with("postgres://") || text.starts_with("postgresql://");
    match text.parse() {
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
