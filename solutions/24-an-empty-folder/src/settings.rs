//! The settings, read from environment variables once, at startup.

use std::{
    env,
    net::{IpAddr, SocketAddr},
    num::NonZeroU16,
    str::FromStr,
    time::Duration,
};

use sqlx::postgres::{PgConnectOptions, PgSslMode};
use tracing::level_filters::LevelFilter;

use crate::api_key::ApiKeys;

/// The validated settings. No `Debug`: some of them are secrets.
pub struct Settings {
    /// The address to listen on.
    pub address: SocketAddr,
    /// How to connect to PostgreSQL: the address, the user and the password.
    pub database: PgConnectOptions,
    /// The maximum number of open connections.
    pub pool_size: usize,
    /// The time limit for getting a connection, and separately for the queries of a request.
    pub database_timeout: Duration,
    /// The valid API keys.
    pub api_keys: ApiKeys,
    /// The log level.
    pub log_level: LevelFilter,
}

impl Settings {
    /// Reads the settings from the environment.
    ///
    /// # Errors
    /// A setting is invalid: the error describes it in a sentence.
    pub fn from_environment() -> Result<Settings, String> {
        Settings::read(|name| env::var_os(name).map(|value| value.to_string_lossy().into_owned()))
    }

    /// Reads the settings from any source that maps names to values.
    ///
    /// # Errors
    /// A setting is invalid: the error describes it in a sentence.
    pub fn read(value_of: impl Fn(&str) -> Option<String>) -> Result<Settings, String> {
        let value =
            |name, default: &str| (name, value_of(name).unwrap_or_else(|| default.to_owned()));
        let ip: IpAddr = checked(value("ADDRESS", "127.0.0.1"), "an IP address", parsed)?;
        let port = checked(value("PORT", "8080"), "a number from 0 to 65535", parsed)?;
        let pool_size: NonZeroU16 =
            checked(value("DATABASE_POOL_SIZE", "10"), "1 to 65535", parsed)?;
        let limit = value("DATABASE_TIMEOUT_MS", "1000");
        let url = value("DATABASE_URL", "");
        let keys = value("API_KEYS", "");
        let level = value("LOG_LEVEL", "warn");
        Ok(Settings {
            address: SocketAddr::new(ip, port),
            database: checked(url, POSTGRES_URL, postgres_url)?,
            pool_size: usize::from(pool_size.get()),
            database_timeout: checked(limit, "250 or more milliseconds", milliseconds)?,
            api_keys: checked(keys, "keys between commas, none empty", ApiKeys::parse)?,
            log_level: checked(level, "error, warn, info, debug or trace", parsed)?,
        })
    }
}

/// Parses the value. The error doesn't repeat the value, which may be a secret.
fn checked<T>(
    (name, value): (&str, String),
    expected: &str,
    parse: fn(&str) -> Option<T>,
) -> Result<T, String> {
    parse(&value).ok_or_else(|| format!("{name} must be set to {expected}"))
}

fn parsed<T: FromStr>(value: &str) -> Option<T> {
    value.parse().ok()
}

fn milliseconds(value: &str) -> Option<Duration> {
    let number = value
        .parse()
        .ok()
        .filter(|number| (250..=3_600_000).contains(number));
    number.map(Duration::from_millis)
}

const POSTGRES_URL: &str = "a URL that begins with postgres://, and asks for TLS in its sslmode only \
                            if this program was built with --features tls";

/// Parses a PostgreSQL URL. By itself, sqlx would also accept other URL schemes, and notice
/// only at the first connection that this program was built without TLS.
fn postgres_url(value: &str) -> Option<PgConnectOptions> {
    let is_postgres = value.starts_with("postgres://") || value.starts_with("postgresql://");
    let url: PgConnectOptions = value.parse().ok().filter(|_| is_postgres)?;
    let can_be_had = cfg!(feature = "tls") || !asks_for_tls(&url);
    can_be_had.then(|| without_brackets(url))
}

fn asks_for_tls(url: &PgConnectOptions) -> bool {
    use PgSslMode::{Require, VerifyCa, VerifyFull};
    matches!(url.get_ssl_mode(), Require | VerifyCa | VerifyFull)
}

/// Strips the brackets from an IPv6 address: sqlx would pass them to the host name lookup.
fn without_brackets(url: PgConnectOptions) -> PgConnectOptions {
    let host = url.get_host().trim_matches(['[', ']']).to_owned();
    url.host(&host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_complaint_names_the_variable_and_repeats_no_value() {
        let value_of = |name: &str| match name {
            "DATABASE_URL" => Some("mysql://user:s3cret@host/database".to_owned()),
            _ => None,
        };
        let complaint = Settings::read(value_of).err().unwrap_or_default();
        assert!(complaint.contains("DATABASE_URL"), "{complaint}");
        assert!(!complaint.contains("s3cret"), "{complaint}");
    }

    #[test]
    fn a_url_that_asks_for_tls_is_refused_without_it() {
        for (mode, accepted) in [("prefer", true), ("require", false), ("verify-full", false)] {
            let url = format!("postgres://user@db/reports?sslmode={mode}");
            let accepted = accepted || cfg!(feature = "tls");
            assert_eq!(postgres_url(&url).is_some(), accepted, "{mode}");
        }
    }

    #[test]
    fn the_url_of_a_provider_is_understood() {
        let url = "postgres://me:%40%3A%2F%3F%23%5B%5D%25@[::1]:6432/reports\
                   ?application_name=reports&connect_timeout=5&target_session_attrs=read-write\
                   &channel_binding=prefer&gssencmode=disable";
        let host = postgres_url(url).map(|url| (url.get_host().to_owned(), url.get_port()));
        assert_eq!(host, Some(("::1".to_owned(), 6432)));
    }
}
