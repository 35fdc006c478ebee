//! What a service is told by its environment.

use std::net::SocketAddr;
use std::time::Duration;

/// What a service reads from its environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    pub database_url: String,
    pub pool_size: u16,
    /// `DATABASE_TIMEOUT_MS`: the longest that a request waits for a connection.
    pub timeout: Duration,
    /// `MIGRATION_TIMEOUT_MS`: the longest that an attempt to migrate may take.
    pub migration_timeout: Duration,
    /// `EXPORT_TIMEOUT_MS`: the longest that an export waits for its client.
    pub export_timeout: Duration,
    /// `EXPORT_DEADLINE_MS`: the longest that an export may take as a whole.
    pub export_deadline: Duration,
    pub api_keys: Vec<String>,
    pub log_level: String,
    /// The service of prices; none for a service that has no `/price`.
    pub prices: Option<PriceSettings>,
    /// The issuer of tokens; none for a service that takes keys alone.
    pub tokens: Option<TokenSettings>,
    /// Where spans and metrics go; none for a service that sends them nowhere.
    pub telemetry: Option<TelemetrySettings>,
    /// `PEER_QUEUE`: the most messages that wait for a peer.
    pub peer_queue: u32,
    /// `PEER_PING_MS`: how often a peer is asked whether it is still there.
    pub peer_ping: Duration,
    /// `CONTACTS_USERS`, of a service that has address books.
    pub contacts_users: String,
}

/// Two users with their passwords. Services without address books know nothing of them.
const CONTACTS_USERS: &str = "ada:secret,grace:secret2,zoe:Schl\u{fc}ssel";

/// What a service is told about the service of prices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PriceSettings {
    pub url: String,
    /// `UPSTREAM_LIMIT`: the most calls that are under way at a time.
    pub limit: u16,
    /// `UPSTREAM_WAIT_MS`: the longest that a request waits for its turn.
    pub wait: Duration,
    /// `UPSTREAM_TIMEOUT_MS`: the longest that a call may take.
    pub timeout: Duration,
    /// `PRICE_DEADLINE_MS`: the longest that a request with a price may take as a whole.
    pub deadline: Duration,
}

/// What a service is told about its telemetry, by the variables of OpenTelemetry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TelemetrySettings {
    /// `OTEL_EXPORTER_OTLP_ENDPOINT`: where the collector is.
    pub url: String,
    /// `OTEL_TRACES_SAMPLER_ARG`: the percentage of traces that are kept, of those that begin here.
    pub percent: u8,
    /// `OTEL_BSP_SCHEDULE_DELAY`: how long a span waits for others to be sent with.
    pub delay: Duration,
    /// `OTEL_EXPORTER_OTLP_TIMEOUT`: the longest that an export may take.
    pub timeout: Duration,
    /// `RUST_LOG`, where it says which lines are written.
    pub lines: Option<String>,
}

impl TelemetrySettings {
    /// The most spans that wait for the collector, and the most that are sent at once.
    pub const QUEUE: usize = 256;
    pub const BATCH: usize = 64;

    /// All traces, to this collector.
    pub fn new(url: impl Into<String>) -> Self {
        TelemetrySettings {
            url: url.into(),
            percent: 100,
            delay: Duration::from_millis(100),
            timeout: Duration::from_millis(500),
            lines: None,
        }
    }

    /// Metrics are sent often, and few spans wait, so that tests need not.
    fn environment(&self) -> Vec<(&'static str, String)> {
        let milliseconds = |duration: Duration| duration.as_millis().to_string();
        let mut all = vec![
            ("OTEL_EXPORTER_OTLP_ENDPOINT", self.url.clone()),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf".to_owned()),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", milliseconds(self.timeout)),
            ("OTEL_TRACES_SAMPLER", "parentbased_traceidratio".to_owned()),
            (
                "OTEL_TRACES_SAMPLER_ARG",
                (f64::from(self.percent) / 100.0).to_string(),
            ),
            ("OTEL_BSP_SCHEDULE_DELAY", milliseconds(self.delay)),
            ("OTEL_BSP_MAX_QUEUE_SIZE", Self::QUEUE.to_string()),
            ("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", Self::BATCH.to_string()),
            ("OTEL_METRIC_EXPORT_INTERVAL", "200".to_owned()),
        ];
        if let Some(lines) = &self.lines {
            all.push(("RUST_LOG", lines.clone()));
        }
        all
    }
}

impl PriceSettings {
    /// The documented defaults, with this service of prices.
    pub fn new(url: impl Into<String>) -> Self {
        PriceSettings {
            url: url.into(),
            limit: 64,
            wait: Duration::from_millis(250),
            timeout: Duration::from_secs(1),
            deadline: Duration::from_millis(1500),
        }
    }
}

/// What tokens have as `iss`. Nothing is ever fetched from there.
pub const ISSUER: &str = "https://issuer.example";
/// The audience that the service is.
pub const AUDIENCE: &str = "records";

/// What a service is told about the issuer of tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenSettings {
    /// `JWKS_URL`: where the keys are published.
    pub url: String,
    /// `TOKEN_ISSUER`: what tokens have as `iss`.
    pub issuer: String,
    /// `TOKEN_AUDIENCE`: who the service is, in `aud`.
    pub audience: String,
    /// `TOKEN_LEEWAY_S`: how far clocks may differ.
    pub leeway: Duration,
    /// `JWKS_RENEWAL_MS`: the pause between two fetches in the background.
    pub renewal: Duration,
    /// `JWKS_COOLDOWN_MS`: the shortest time between two fetches that unknown keys cause.
    pub cooldown: Duration,
    /// `JWKS_MAX_AGE_MS`: how long keys count after the last good fetch.
    pub max_age: Duration,
    /// `JWKS_TIMEOUT_MS`: the longest that a fetch may take.
    pub timeout: Duration,
}

impl TokenSettings {
    /// Times that tests can wait for, with keys from this URL.
    pub fn new(url: impl Into<String>) -> Self {
        TokenSettings {
            url: url.into(),
            issuer: ISSUER.to_owned(),
            audience: AUDIENCE.to_owned(),
            leeway: Duration::from_secs(5),
            renewal: Duration::from_millis(400),
            cooldown: Duration::from_millis(300),
            max_age: Duration::from_mins(1),
            timeout: Duration::from_millis(800),
        }
    }
}

impl Settings {
    /// The documented defaults, with this database.
    pub fn new(database_url: impl Into<String>) -> Self {
        Settings {
            database_url: database_url.into(),
            pool_size: 10,
            timeout: Duration::from_secs(1),
            migration_timeout: Duration::from_mins(10),
            export_timeout: Duration::from_secs(10),
            export_deadline: Duration::from_mins(10),
            api_keys: vec!["valid_key".to_owned()],
            log_level: "warn".to_owned(),
            prices: None,
            tokens: None,
            telemetry: None,
            peer_queue: 256,
            peer_ping: Duration::from_secs(20),
            contacts_users: CONTACTS_USERS.to_owned(),
        }
    }

    /// The settings as environment variables, for a service on this address.
    pub fn environment(&self, address: SocketAddr) -> Vec<(String, String)> {
        let milliseconds = |duration: Duration| duration.as_millis().to_string();
        let mut all = vec![
            ("ADDRESS", address.ip().to_string()),
            ("PORT", address.port().to_string()),
            ("DATABASE_URL", self.database_url.clone()),
            ("DATABASE_POOL_SIZE", self.pool_size.to_string()),
            ("DATABASE_TIMEOUT_MS", milliseconds(self.timeout)),
            ("MIGRATION_TIMEOUT_MS", milliseconds(self.migration_timeout)),
            ("EXPORT_TIMEOUT_MS", milliseconds(self.export_timeout)),
            ("EXPORT_DEADLINE_MS", milliseconds(self.export_deadline)),
            ("API_KEYS", self.api_keys.join(",")),
            ("LOG_LEVEL", self.log_level.clone()),
            ("PEER_QUEUE", self.peer_queue.to_string()),
            ("PEER_PING_MS", milliseconds(self.peer_ping)),
            ("CONTACTS_USERS", self.contacts_users.clone()),
        ];
        if let Some(prices) = &self.prices {
            all.extend([
                ("UPSTREAM_URL", prices.url.clone()),
                ("UPSTREAM_LIMIT", prices.limit.to_string()),
                ("UPSTREAM_WAIT_MS", milliseconds(prices.wait)),
                ("UPSTREAM_TIMEOUT_MS", milliseconds(prices.timeout)),
                ("PRICE_DEADLINE_MS", milliseconds(prices.deadline)),
            ]);
        }
        if let Some(tokens) = &self.tokens {
            all.extend([
                ("JWKS_URL", tokens.url.clone()),
                ("TOKEN_ISSUER", tokens.issuer.clone()),
                ("TOKEN_AUDIENCE", tokens.audience.clone()),
                ("TOKEN_LEEWAY_S", tokens.leeway.as_secs().to_string()),
                ("JWKS_RENEWAL_MS", milliseconds(tokens.renewal)),
                ("JWKS_COOLDOWN_MS", milliseconds(tokens.cooldown)),
                ("JWKS_MAX_AGE_MS", milliseconds(tokens.max_age)),
                ("JWKS_TIMEOUT_MS", milliseconds(tokens.timeout)),
            ]);
        }
        if let Some(telemetry) = &self.telemetry {
            all.extend(telemetry.environment());
        }
        let all = all.into_iter();
        all.map(|(name, value)| (name.to_owned(), value)).collect()
    }
}
