//! The settings of the service, read from environment variables once, at startup.

use std::{
    env::{self, VarError},
    net::IpAddr,
    num::{NonZeroU16, NonZeroU32},
    str::FromStr,
    time::Duration,
};

use sqlx::postgres::{PgConnectOptions, PgSslMode};
use thiserror::Error;
use tracing::{Level, level_filters::LevelFilter};
use tracing_subscriber::filter::Targets;

/// The maximum size of a JSON body, in bytes.
pub const MAX_BODY_BYTES: usize = 32 * 1024;

/// The maximum number of ids in one request.
pub const MAX_IDS: usize = 1000;

/// The maximum time for a client to send a body.
pub const SENDING: Duration = Duration::from_secs(10);

const POSTGRES_URL: &str = "postgres://user:password@host:port/database, without an sslmode that asks for TLS \
                            (special characters in the password are percent-encoded)";
const BASE_URL: &str = "http://host:port, without a user and a password";
const DIRECTIVES: &str = "targets and their levels, such as warn,sqlx=debug";
const MILLISECONDS: &str = "a whole number of milliseconds, 250 to 3600000";
const SHORT_MILLISECONDS: &str = "a whole number of milliseconds, 100 to 86400000";
const LONG_MILLISECONDS: &str = "a whole number of milliseconds, 250 to 86400000";

/// All settings, validated at startup, so invalid ones are reported before any request.
/// The struct doesn't implement `Debug`, because some settings are secret.
pub struct Settings {
    /// The address to listen on.
    pub address: IpAddr,
    /// The port to listen on.
    pub port: u16,
    /// The valid API keys.
    pub api_keys: Vec<String>,
    /// How to connect to PostgreSQL: the address, the user and the password.
    pub database: PgConnectOptions,
    /// The maximum number of open connections.
    pub database_pool_size: NonZeroU16,
    /// The time limit for getting a connection, and separately for the database's answer.
    pub database_timeout: Duration,
    /// The maximum duration of one migration attempt.
    pub migration_timeout: Duration,
    /// The maximum time that an export waits for its client.
    pub export_timeout: Duration,
    /// The maximum duration of a whole export.
    pub export_deadline: Duration,
    /// The settings for tokens; `None` if no issuer is configured.
    pub tokens: Option<TokenSettings>,
    /// The settings for prices; `None` if no price service is configured.
    pub prices: Option<PriceSettings>,
    /// The settings for spans and metrics; `None` if no collector is configured.
    pub telemetry: Option<TelemetrySettings>,
    /// The log filter. At level `info`, each request is logged.
    pub log: Targets,
}

impl Settings {
    /// Reads the settings. Variables that aren't set have the defaults below.
    ///
    /// # Errors
    /// A variable has no value and no default, or its value cannot be used.
    pub fn from_environment() -> Result<Settings, SettingsError> {
        Ok(Settings {
            address: setting(
                "ADDRESS",
                "127.0.0.1",
                "an IP address, such as 0.0.0.0",
                parsed,
            )?,
            port: setting("PORT", "8080", "a port number, 0 to 65535", parsed)?,
            api_keys: secret("API_KEYS", "keys, separated by single commas", keys)?,
            database: secret("DATABASE_URL", POSTGRES_URL, postgres_url)?,
            database_pool_size: setting("DATABASE_POOL_SIZE", "10", "1 to 65535", parsed)?,
            database_timeout: setting("DATABASE_TIMEOUT_MS", "1000", MILLISECONDS, milliseconds)?,
            migration_timeout: setting(
                "MIGRATION_TIMEOUT_MS",
                "3600000",
                LONG_MILLISECONDS,
                long_milliseconds,
            )?,
            export_timeout: setting("EXPORT_TIMEOUT_MS", "10000", MILLISECONDS, milliseconds)?,
            export_deadline: setting(
                "EXPORT_DEADLINE_MS",
                "600000",
                LONG_MILLISECONDS,
                long_milliseconds,
            )?,
            tokens: match env::var_os("JWKS_URL") {
                Some(_) => Some(TokenSettings::from_environment()?),
                None => None,
            },
            prices: match env::var_os("UPSTREAM_URL") {
                Some(_) => Some(PriceSettings::from_environment()?),
                None => None,
            },
            telemetry: match env::var_os("OTEL_EXPORTER_OTLP_ENDPOINT") {
                Some(_) => Some(TelemetrySettings::from_environment()?),
                None => None,
            },
            log: match env::var_os("RUST_LOG") {
                Some(_) => setting("RUST_LOG", "", DIRECTIVES, parsed)?,
                None => setting(
                    "LOG_LEVEL",
                    "warn",
                    "error, warn, info, debug or trace",
                    log_level,
                )?,
            },
        })
    }

    /// The maximum time until the response starts. It covers sending the body and waiting for
    /// the database; for an export, also waiting for a permit and for the first rows.
    pub fn request_timeout(&self) -> Duration {
        SENDING + 4 * self.database_timeout
    }

    /// The grace period at shutdown, long enough for a request that has arrived: it can wait
    /// for a connection and for the database's answer, or until the deadline for prices.
    pub fn grace(&self) -> Duration {
        let prices = self.prices.as_ref();
        let deadline = prices.map_or(Duration::ZERO, |prices| prices.deadline);
        deadline.max(2 * self.database_timeout) + Duration::from_secs(1)
    }
}

/// The settings for calls to the price service.
#[derive(Clone)]
pub struct PriceSettings {
    /// The URL of the price service.
    pub url: String,
    /// The maximum number of concurrent calls.
    pub limit: NonZeroU32,
    /// The maximum time that a request waits for a permit to call the price service.
    pub wait: Duration,
    /// The maximum duration of a call.
    pub timeout: Duration,
    /// The maximum duration of a whole request that needs a price.
    pub deadline: Duration,
}

impl PriceSettings {
    fn from_environment() -> Result<PriceSettings, SettingsError> {
        Ok(PriceSettings {
            url: secret("UPSTREAM_URL", BASE_URL, base_url)?,
            limit: setting(
                "UPSTREAM_LIMIT",
                "64",
                "a whole number of calls, 1 or more",
                parsed,
            )?,
            wait: setting("UPSTREAM_WAIT_MS", "250", MILLISECONDS, milliseconds)?,
            timeout: setting("UPSTREAM_TIMEOUT_MS", "1000", MILLISECONDS, milliseconds)?,
            deadline: setting("PRICE_DEADLINE_MS", "1500", MILLISECONDS, milliseconds)?,
        })
    }
}

/// The settings for spans and metrics, from OpenTelemetry's standard variables. The SDK
/// itself reads the other variables, including the address of the collector.
#[derive(Clone)]
pub struct TelemetrySettings {
    /// The name of the service in spans and metrics.
    pub service_name: String,
    /// The sampling ratio for traces that start in this service.
    pub share: f64,
    /// The maximum duration of an export.
    pub timeout: Duration,
}

impl TelemetrySettings {
    fn from_environment() -> Result<TelemetrySettings, SettingsError> {
        secret("OTEL_EXPORTER_OTLP_ENDPOINT", BASE_URL, base_url)?;
        Ok(TelemetrySettings {
            service_name: setting("OTEL_SERVICE_NAME", "records", "a name", text)?,
            share: setting(
                "OTEL_TRACES_SAMPLER_ARG",
                "1",
                "a share of traces, 0 to 1",
                share,
            )?,
            timeout: setting(
                "OTEL_EXPORTER_OTLP_TIMEOUT",
                "10000",
                MILLISECONDS,
                milliseconds,
            )?,
        })
    }
}

/// The requirements for tokens, and where to get the issuer's keys.
#[derive(Clone)]
pub struct TokenSettings {
    pub issuer: String,
    pub audience: String,
    /// The tolerated clock skew.
    pub leeway: Duration,
    pub keys: KeySettings,
}

/// Where the issuer's keys are, and how often they are fetched.
#[derive(Clone)]
pub struct KeySettings {
    pub url: String,
    /// The pause between two renewals.
    pub renewal: Duration,
    /// The minimum time between two fetches that are caused by unknown ids.
    pub cooldown: Duration,
    /// How long the keys remain valid after the last successful fetch.
    pub max_age: Duration,
    /// The maximum duration of a fetch.
    pub timeout: Duration,
}

impl TokenSettings {
    fn from_environment() -> Result<TokenSettings, SettingsError> {
        Ok(TokenSettings {
            issuer: secret(
                "TOKEN_ISSUER",
                "the issuer of the tokens, as their iss has it",
                text,
            )?,
            audience: secret(
                "TOKEN_AUDIENCE",
                "this service's name, as the aud of a token has it",
                text,
            )?,
            leeway: setting(
                "TOKEN_LEEWAY_S",
                "5",
                "a whole number of seconds, 0 to 300",
                seconds,
            )?,
            keys: KeySettings {
                url: secret(
                    "JWKS_URL",
                    "http://host:port/path, without a user and a password",
                    http_url,
                )?,
                renewal: setting(
                    "JWKS_RENEWAL_MS",
                    "300000",
                    SHORT_MILLISECONDS,
                    short_milliseconds,
                )?,
                cooldown: setting(
                    "JWKS_COOLDOWN_MS",
                    "10000",
                    SHORT_MILLISECONDS,
                    short_milliseconds,
                )?,
                max_age: setting(
                    "JWKS_MAX_AGE_MS",
                    "86400000",
                    SHORT_MILLISECONDS,
                    short_milliseconds,
                )?,
                timeout: setting(
                    "JWKS_TIMEOUT_MS",
                    "2000",
                    SHORT_MILLISECONDS,
                    short_milliseconds,
                )?,
            },
        })
    }
}

/// The reason why a variable cannot be used, in one sentence for the person who set it.
#[derive(Debug, Error)]
#[error("{variable} {trouble}; set it to {expected}")]
pub struct SettingsError {
    variable: &'static str,
    trouble: String,
    expected: &'static str,
}

/// The value of a variable, or else a default.
fn setting<T>(
    variable: &'static str,
    default: &str,
    expected: &'static str,
    read: fn(&str) -> Option<T>,
) -> Result<T, SettingsError> {
    let value = match env::var_os(variable) {
        Some(value) => value.to_string_lossy().into_owned(),
        None => default.to_owned(),
    };
    read(&value).ok_or_else(|| SettingsError {
        variable,
        trouble: format!("is {value:?}, which cannot be used"),
        expected,
    })
}

/// Reads a required variable. Its value may be secret, so the error doesn't repeat it.
fn secret<T>(
    variable: &'static str,
    expected: &'static str,
    read: fn(&str) -> Option<T>,
) -> Result<T, SettingsError> {
    let value = env::var(variable);
    let trouble = match &value {
        Err(VarError::NotPresent) => "is not set",
        _ => "cannot be used",
    };
    let value = value.ok().and_then(|value| read(&value));
    value.ok_or_else(|| SettingsError {
        variable,
        trouble: trouble.to_owned(),
        expected,
    })
}

fn parsed<T: FromStr>(value: &str) -> Option<T> {
    value.parse().ok()
}

/// Parses a time limit (250 ms to one hour): less is too strict, more is hardly a limit.
fn milliseconds(value: &str) -> Option<Duration> {
    long_milliseconds(value).filter(|limit| *limit <= Duration::from_hours(1))
}

/// Parses a time limit of 250 ms to one day.
fn long_milliseconds(value: &str) -> Option<Duration> {
    let milliseconds = value.parse().ok();
    milliseconds
        .filter(|milliseconds| (250..=86_400_000).contains(milliseconds))
        .map(Duration::from_millis)
}

/// Parses an interval or time limit of 100 ms to one day, for fetching keys.
fn short_milliseconds(value: &str) -> Option<Duration> {
    let milliseconds = value.parse().ok();
    milliseconds
        .filter(|milliseconds| (100..=86_400_000).contains(milliseconds))
        .map(Duration::from_millis)
}

fn seconds(value: &str) -> Option<Duration> {
    let seconds = value.parse().ok();
    seconds
        .filter(|seconds| *seconds <= 300)
        .map(Duration::from_secs)
}

fn share(value: &str) -> Option<f64> {
    let share = value.parse().ok();
    share.filter(|share| (0.0..=1.0).contains(share))
}

/// `level` applies only to this service; its libraries log only warnings and errors.
fn log_level(value: &str) -> Option<Targets> {
    let level: Level = value.parse().ok()?;
    Some(
        Targets::new()
            .with_default(LevelFilter::WARN)
            .with_target(env!("CARGO_CRATE_NAME"), level),
    )
}

fn text(value: &str) -> Option<String> {
    (!value.trim().is_empty()).then(|| value.to_owned())
}

/// Parses an `http://` URL. Others are rejected, because this program is built without TLS.
fn http_url(value: &str) -> Option<String> {
    let host = value.strip_prefix("http://")?.split('/').next()?;
    (!host.is_empty() && !host.contains('@')).then(|| value.to_owned())
}

/// Parses an HTTP URL, and strips its trailing slash: the paths to append begin with one.
fn base_url(value: &str) -> Option<String> {
    http_url(value).map(|url| url.trim_end_matches('/').to_owned())
}

/// Parses comma-separated keys. `None` if one is empty: an empty header would match it.
fn keys(value: &str) -> Option<Vec<String>> {
    let keys = value.split(',').map(|key| key.trim().to_owned());
    let keys: Vec<String> = keys.collect();
    let usable = keys.iter().all(|key| !key.is_empty());
    usable.then_some(keys)
}

/// Parses a PostgreSQL URL. By itself, sqlx would also accept other URL schemes, and notice
/// only at the first connection that this program was built without TLS.
fn postgres_url(value: &str) -> Option<PgConnectOptions> {
    if !value.starts_with("postgres://") && !value.starts_with("postgresql://") {
        return None;
    }
    let database: PgConnectOptions = value.parse().ok()?;
    match database.get_ssl_mode() {
        PgSslMode::Disable | PgSslMode::Allow | PgSslMode::Prefer => {
            // Strips the brackets from an IPv6 address: sqlx would pass them to the host name lookup.
            let host = database.get_host().trim_matches(['[', ']']).to_owned();
            Some(database.host(&host))
        }
        PgSslMode::Require | PgSslMode::VerifyCa | PgSslMode::VerifyFull => None,
    }
}
