//! Exercise 14: throughput, latency and what waiting costs, by the delay of the upstream.

use workshop_results::file::ResultFile;
use workshop_results::shown::{Bar, Bars, Cell, Chart, Column, Drawing, Table};

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
pub fn drawn(result: &ResultFile, delays: &[u64]) -> (Table, Vec<Chart>) {
    let columns = COLUMNS.map(|(_, heading)| heading);
    let mut table = Table::new(
        "waiting",
        "As late as the upstream is: everybody waits (closed loop), and at the same rate for all",
        Column::list(columns),
    );
    table.corner = "Upstream".to_owned();
    let measured = |name: &str, side: &str, delay: u64| {
        let metric = result.metric(&format!("{name}_at_{delay}_ms"))?;
        Some(metric.value(side)?.value)
    };
    for delay in delays {
        for side in &result.sides {
            let cells = COLUMNS.map(|(name, _)| Cell::from(measured(name, &side.id, *delay)));
            let heading = format!("{delay} ms, {}", result.heading(&side.id));
            table.row(heading, cells.into());
        }
    }
    let groups = result.sides.iter().map(|side| {
        let bar = |delay: &u64| {
            Some(Bar {
                label: format!("{delay} ms"),
                value: measured("throughput", &side.id, *delay)?,
                mark: String::new(),
            })
        };
        Bars {
            name: result.heading(&side.id),
            bars: delays.iter().filter_map(bar).collect(),
        }
    });
    let chart = Chart {
        id: "throughput-by-delay".to_owned(),
        title: "Requests per second by the delay of the upstream. The number of a row is at both ends of its line.".to_owned(),
        drawing: Drawing::Lines(groups.collect()),
    };
    (table, vec![chart])
}
