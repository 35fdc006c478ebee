//! Exercise 14: throughput, latency and what waiting costs, by the delay of the upstream.

use super::by_step::ByStep;
use workshop_results::shown::Drawing;

/// What the table shows of each row, by the beginning of the metric's key.
const COLUMNS: [(&str, &str); 7] = [
    ("throughput", "requests/s"),
    ("p99_saturated", "p99 (ms)"),
    ("p99", "p99 at the same rate (ms)"),
    ("threads", "threads"),
    ("memory", "memory (MB)"),
    ("memory_per_waiting", "per waiting request (kB)"),
    ("cpu", "CPU per request (µs)"),
];

/// A line per row and delay, and a chart of the throughput: where do the rows part?
pub const TABLE: ByStep<'static> = ByStep {
    id: "waiting",
    title: "As late as the upstream is: everybody waits (closed loop), and at the same rate for all",
    corner: "Upstream",
    columns: &COLUMNS,
    unit: "ms",
    after_step: " ms",
    charted: "throughput",
    chart: (
        "throughput-by-delay",
        "Requests per second by the delay of the upstream. The number of a row is at both ends of its line.",
    ),
    drawing: Drawing::Lines,
};
