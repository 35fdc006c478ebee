//! The settings of the service, read from environment variables once, at startup.

use std::{
    env,
    net::IpAddr,
    num::{NonZeroU16, NonZeroU32},
    time::Duration,
};

use rocket::figment::Figment;
use sqlx::postgres::{PgConnectOptions, PgSslMode};
use tracing::{Level, level_filters::LevelFilter};

/// The maximum size of a JSON body, in bytes.
pub const MAX_BODY_BYTES: usize = 32 * 1024;

/// The maximum number of ids in one request.
pub const MAX_IDS: usize = 1000;

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
    /// The maximum time that an export waits for its client.
    pub export_timeout: Duration,
    /// The maximum duration of a whole export.
    pub export_deadline: Duration,
    /// The settings for the price service.
    pub prices: PriceSettings,
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

/// The settings for calls to the price service.
pub struct PriceSettings {
    /// The address of the price service; if it isn't set, the service offers no prices.
    pub url: Option<String>,
    /// The maximum number of concurrent calls.
    pub limit: NonZeroU32,
    /// The maximum time that a request waits for a permit to call the price service.
    pub wait: Duration,
    /// The maximum duration of a call.
    pub timeout: Duration,
    /// The maximum duration of a whole request that needs a price.
    pub deadline: Duration,
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
            api_keys: secret("API_KEYS", keys)?,
            database: DatabaseSettings {
                url: secret("DATABASE_URL", postgres_url)?,
                pool_size: setting("DATABASE_POOL_SIZE", "10", pool_size)?,
                timeout: setting("DATABASE_TIMEOUT_MS", "1000", milliseconds)?,
                migration_timeout: setting("MIGRATION_TIMEOUT_MS", "3600000", up_to_a_day)?,
            },
            export_timeout: setting("EXPORT_TIMEOUT_MS", "10000", milliseconds)?,
            export_deadline: setting("EXPORT_DEADLINE_MS", "600000", up_to_a_day)?,
            prices: PriceSettings {
                url: match env::var_os("UPSTREAM_URL") {
                    Some(_) => Some(secret("UPSTREAM_URL", http_url)?),
                    None => None,
                },
                limit: setting("UPSTREAM_LIMIT", "64", calls)?,
                wait: setting("UPSTREAM_WAIT_MS", "250", milliseconds)?,
                timeout: setting("UPSTREAM_TIMEOUT_MS", "1000", milliseconds)?,
                deadline: setting("PRICE_DEADLINE_MS", "1500", milliseconds)?,
            },
            log_level: setting("LOG_LEVEL", "warn", log_level)?,
        })
    }

    /// Rocket's configuration, built from these settings.
    pub fn rocket(&self) -> Figment {
        let longest_request = self.prices.deadline.max(2 * self.database.timeout);
        rocket::Config::figment()
            .merge(("address", self.address))
            .merge(("port", self.port))
            .merge(("limits.json", MAX_BODY_BYTES))
            // After SIGTERM, no new requests are accepted. Requests in flight get enough time to wait
            // for a database connection and a query result, or to reach the deadline for prices.
            // Connections that are still open after that are closed.
            .merge(("shutdown.grace", in_seconds(longest_request) + 1))
            .merge(("shutdown.mercy", 1))
    }
}
// ANCHOR_END: settings

/// Rounds up, because Rocket takes its time limits in whole seconds.
fn in_seconds(duration: Duration) -> u64 {
    (duration + Duration::from_millis(999)).as_secs()
}

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

/// Reads a variable without a default: a default key would let every reader of this course
/// use a service whose owner set no key. Errors omit the value, as errors end up in logs.
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
fn up_to_a_day(text: &str) -> Result<Duration, Expected> {
    match text.parse() {
        Ok(limit @ 250..=86_400_000) => Ok(Duration::from_millis(limit)),
        _ => Err("a whole number of milliseconds, 250 to 86400000"),
    }
}

/// Parses an `http://` URL. Removes a trailing slash: the paths appended later begin with one.
fn http_url(text: &str) -> Result<String, Expected> {
    match reqwest::Url::parse(text) {
        Ok(url) if url.scheme() == "http" && url.query().is_none() && url.fragment().is_none() => {
            Ok(text.trim_end_matches('/').to_owned())
        }
        _ => Err("http://host:port"),
    }
}

fn calls(text: &str) -> Result<NonZeroU32, Expected> {
    text.parse()
        .map_err(|_| "a whole number of calls, 1 or more")
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
    fn the_url_of_a_provider_is_understood() {
        let url = "postgres://me:%40%3A%2F%3F%23%5B%5D%25@[::1]:6432/records\
                   ?application_name=records&connect_timeout=5&target_session_attrs=read-write\
                   &channel_binding=prefer&gssencmode=disable";
        let url = postgres_url(url).map_err(str::to_owned).unwrap();
        assert_eq!((url.get_host(), url.get_port()), ("::1", 6432));
    }
}
