//! The manifest: under which conditions a measurement was taken.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The machine, as far as it can be known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// The CPU's model.
    pub cpu: String,
    /// Logical cores that the tool may use.
    pub cores: usize,
    /// Memory in MB.
    pub memory_mb: u64,
    /// Operating system, kernel and architecture.
    pub kernel: String,
    /// The CPU frequency governor, where there is one.
    pub governor: Option<String>,
    /// What `vcgencmd get_throttled` says on a Raspberry Pi.
    pub throttled: Option<String>,
    /// The hypervisor or container, when virtual.
    pub virtualised: Option<String>,
}

/// The conditions of a measurement.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// The commit of the checkout, shortened.
    pub commit: Option<String>,
    /// True when files differed from the commit.
    pub dirty: Option<bool>,
    /// The machine.
    pub machine: Machine,
    /// Versions: `rustc`, `jdk`, `postgresql`, `oha`, `hyperfine`, as each says of itself.
    pub versions: BTreeMap<String, String>,
    /// Flags that change speed: `RUSTFLAGS`, `JAVA_TOOL_OPTIONS`, the cargo profile; an empty one was not set.
    pub flags: BTreeMap<String, String>,
    /// Where PostgreSQL came from, without its address.
    pub database: String,
    /// The data set's name.
    pub data_set: String,
    /// The data set's rows.
    pub rows: u64,
    /// The data set's fingerprint.
    pub fingerprint: String,
    /// Connections in the pool of each service.
    pub pool_size: u16,
    /// Connections of the load generator.
    pub connections: u32,
    /// Blocks a side.
    pub blocks: usize,
    /// The random order of the blocks, so that it can be checked.
    pub order: Vec<String>,
    /// Database round trips per request, by side id.
    pub round_trips: BTreeMap<String, f64>,
    /// The offered rates of the open loop, in requests per second, by percent of the slower side's saturation.
    pub rates: BTreeMap<String, f64>,
    /// Seconds from the first gate to the last block.
    pub took_s: f64,
}
