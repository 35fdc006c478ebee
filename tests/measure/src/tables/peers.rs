//! Exercise 15: how late messages are and what a peer costs, by the number of peers.

use workshop_results::file::ResultFile;
use workshop_results::shown::{Bar, Bars, Cell, Chart, Column, Drawing, Table};

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
pub fn drawn(result: &ResultFile, sizes: &[usize]) -> (Table, Vec<Chart>) {
    let columns = COLUMNS.map(|(_, heading)| heading);
    let mut table = Table::new(
        "peers",
        "So many peers at a time, each with a message per second to another one",
        Column::list(columns),
    );
    table.corner = "Peers".to_owned();
    let measured = |name: &str, side: &str, peers: usize| {
        let metric = result.metric(&format!("{name}_at_{peers}_peers"))?;
        Some(metric.value(side)?.value)
    };
    for peers in sizes {
        for side in &result.sides {
            let cells = COLUMNS.map(|(name, _)| Cell::from(measured(name, &side.id, *peers)));
            let heading = format!("{peers}, {}", result.heading(&side.id));
            table.row(heading, cells.into());
        }
    }
    let groups = result.sides.iter().map(|side| {
        let bar = |peers: &usize| {
            Some(Bar {
                label: format!("{peers} peers"),
                value: measured("memory", &side.id, *peers)?,
                mark: String::new(),
            })
        };
        Bars {
            name: result.heading(&side.id),
            bars: sizes.iter().filter_map(bar).collect(),
        }
    });
    let chart = Chart {
        id: "memory-by-peers".to_owned(),
        title: "Memory in megabytes, by the number of connected peers.".to_owned(),
        drawing: Drawing::Bars(groups.collect()),
    };
    (table, vec![chart])
}
