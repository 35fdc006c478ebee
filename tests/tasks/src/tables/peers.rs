//! Exercise 15: how late messages are and what a peer costs, by the number of peers.

use super::by_step::ByStep;
use workshop_results::shown::Drawing;

/// What the table shows of each row, by the beginning of the metric's key.
const COLUMNS: [(&str, &str); 10] = [
    ("p50", "median (ms)"),
    ("p99", "p99 (ms)"),
    ("cpu_per_message", "CPU per message (µs)"),
    ("memory", "memory (MB)"),
    ("memory_per_peer", "per peer (kB)"),
    ("threads", "threads"),
    ("threads_afterwards", "threads afterwards"),
    ("connecting", "all connect (ms)"),
    ("leaving", "all leave (ms)"),
    ("load_share", "CPU of the load (% of all cores)"),
];

/// A line per row and number of peers, and the memory as bars.
pub const TABLE: ByStep<'static> = ByStep {
    id: "peers",
    title: "So many peers at a time, each with a message per second to another one",
    corner: "Peers",
    columns: &COLUMNS,
    unit: "peers",
    after_step: "",
    charted: "memory",
    chart: (
        "memory-by-peers",
        "Memory in megabytes, by the number of connected peers.",
    ),
    drawing: Drawing::Bars,
};
