//! What a value is called in results: a name, and where it was measured several times, at what. A result has both as one text:
//! `p99_at_30`, `throughput_pool_8`. Nothing takes such a text apart again.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::figures::count;

/// The key of a metric, or of a value that a block notes besides.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Key(Cow<'static, str>);

/// What a metric is measured at, where there are several of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum At {
    /// A rate, in percent of the slower side's saturation.
    Rate(u32),
    /// The connections of the pool.
    Pool(u16),
    /// The rows that are exported.
    Rows(u32),
    /// The length of the texts, in bytes.
    Bytes(usize),
    /// How late the prices come, in milliseconds.
    Delay(u64),
    /// The peers that are connected.
    Peers(usize),
    /// A load by its name, and what is said of it to people.
    Load(&'static str, &'static str),
}

/// After the first answer, without any load.
pub const IDLE: At = At::Load("at_idle", "idle");
/// Under the article's load, of ten requests a second.
pub const TEN: At = At::Load("at_ten", "10/s");
/// Counted from when a request was sent, not from when it was due.
pub const UNCORRECTED: At = At::Load("uncorrected", "uncorrected");

/// What a key ends in.
impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            At::Rate(percent) => write!(f, "_at_{percent}"),
            At::Pool(size) => write!(f, "_pool_{size}"),
            At::Rows(rows) => write!(f, "_at_{rows}_rows"),
            At::Bytes(bytes) => write!(f, "_at_{bytes}_bytes"),
            At::Delay(ms) => write!(f, "_at_{ms}_ms"),
            At::Peers(peers) => write!(f, "_at_{peers}_peers"),
            At::Load(name, _) => write!(f, "_{name}"),
        }
    }
}

impl At {
    /// What is said of it to people, without a unit.
    pub fn words(&self) -> String {
        const MILLION: u32 = 1_000_000;
        match *self {
            At::Rate(percent) => percent.to_string(),
            At::Pool(size) => size.to_string(),
            At::Rows(rows) if rows > 0 && rows.is_multiple_of(MILLION) => {
                format!("{} million", rows / MILLION)
            }
            At::Rows(rows) => count(u64::from(rows)),
            At::Bytes(bytes) => bytes.to_string(),
            At::Delay(ms) => ms.to_string(),
            At::Peers(peers) => peers.to_string(),
            At::Load(_, words) => words.to_owned(),
        }
    }
}

impl Key {
    /// A key that data name: a file of metrics, of tables or of results.
    pub fn of_data(text: &str) -> Key {
        Key(Cow::Owned(text.to_owned()))
    }

    /// The same metric measured at this, where there is such a thing.
    #[must_use]
    pub fn at(&self, at: impl Into<Option<At>>) -> Key {
        match at.into() {
            Some(at) => Key(Cow::Owned(format!("{self}{at}"))),
            None => self.clone(),
        }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

macro_rules! keys {
    ($all:ident: $($name:ident = $text:literal,)+) => {
        $(
            #[allow(missing_docs, reason = "metrics.toml says what is measured")]
            pub const $name: Key = Key(Cow::Borrowed($text));
        )+
        /// All of these.
        pub const $all: &[Key] = &[$($name),+];
    };
}

keys! { METRICS:
    ASKED = "asked",
    CONNECTING = "connecting",
    CONNECTIONS = "connections",
    CPU = "cpu",
    CPU_IN_ALL = "cpu_in_all",
    CPU_LOAD = "cpu_load",
    CPU_ONCE = "cpu_once",
    CPU_PER_MESSAGE = "cpu_per_message",
    CPU_PER_REQUEST = "cpu_per_request",
    CPU_PER_ROW = "cpu_per_row",
    CPU_SATURATED = "cpu_saturated",
    DATABASE_CPU = "database_cpu",
    DATABASE_ENERGY = "database_energy",
    DATABASE_PER_REQUEST = "database_per_request",
    DATABASE_SHARE = "database_share",
    DESCRIPTORS = "descriptors",
    DROPPED = "dropped",
    ENERGY = "energy",
    EXPORT_TIME = "export_time",
    FIRST_BYTE = "first_byte",
    FIRST_EXPORT_TIME = "first_export_time",
    IMAGE = "image",
    LAG = "lag",
    LEAVING = "leaving",
    LOAD_CPU = "load_cpu",
    LOAD_SHARE = "load_share",
    LONGEST = "longest",
    LONGEST_LAG = "longest_lag",
    LOOKED_AT = "looked_at",
    LOST = "lost",
    MEAN = "mean",
    MEMORY = "memory",
    MEMORY_PER_PEER = "memory_per_peer",
    MEMORY_PER_WAITING = "memory_per_waiting",
    NGINX_CPU = "nginx_cpu",
    OVER_KEY = "over_key",
    P10 = "p10",
    P25 = "p25",
    P50 = "p50",
    P50_SATURATED = "p50_saturated",
    P50_STALLED = "p50_stalled",
    P75 = "p75",
    P90 = "p90",
    P95 = "p95",
    P99 = "p99",
    P99_9 = "p99.9",
    P99_SATURATED = "p99_saturated",
    P99_STALLED = "p99_stalled",
    P999_STALLED = "p999_stalled",
    PGBENCH = "pgbench",
    POWER = "power",
    POWER_IDLE = "power_idle",
    PSS = "pss",
    PSS_AT_LOAD = "pss_at_load",
    ROUND_TRIPS = "round_trips",
    SERVICE_ENERGY = "service_energy",
    SIZE = "size",
    SLOW = "slow",
    SLOWEST_SATURATED = "slowest_saturated",
    SLOWEST_STALLED = "slowest_stalled",
    START_UP = "start_up",
    START_UP_CPU = "start_up_cpu",
    SWITCH = "switch",
    THREADS = "threads",
    THREADS_AFTERWARDS = "threads_afterwards",
    THROUGHPUT = "throughput",
    THROUGHPUT_ALTERNATING = "throughput_alternating",
    WARM_UP = "warm_up",
    WARM_UP_CPU = "warm_up_cpu",
}

// What a block notes besides: no metrics, but what notes and tables are made of.
keys! { BESIDES:
    CPU_PER_REQUEST_SATURATED = "cpu_per_request_saturated",
    ERRORS = "errors",
    GENERATOR_SHARE = "generator_share",
    HUNG = "hung_on_shutdown",
    REQUESTS = "requests",
    SERVED = "served",
    UNSTEADY = "unsteady",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_ends_in_what_it_was_measured_at() {
        let keys = [
            P99.at(At::Rate(30)),
            THROUGHPUT.at(At::Pool(8)),
            MEMORY.at(At::Rows(1_000_000)),
            IMAGE.at(At::Bytes(32)),
            P99_SATURATED.at(At::Delay(50)),
            LEAVING.at(At::Peers(500)),
            PSS.at(TEN),
            P99_STALLED.at(UNCORRECTED),
            SIZE.at(None),
        ];
        assert_eq!(
            keys.map(|key| key.to_string()),
            [
                "p99_at_30",
                "throughput_pool_8",
                "memory_at_1000000_rows",
                "image_at_32_bytes",
                "p99_saturated_at_50_ms",
                "leaving_at_500_peers",
                "pss_at_ten",
                "p99_stalled_uncorrected",
                "size",
            ]
        );
        assert_eq!(At::Rows(10_000_000).words(), "10 million");
    }
}
