//! Exercise 8: what stands beside the published figures.

use workshop_results::file::ResultFile;
use workshop_results::shown::{Cell, Column, Table, TableRow};

/// The Kotlin service as shipped.
const SHIPPED: &str = "kotlin";
/// The published rows that are measured here as well.
const PUBLISHED: [&str; 6] = [
    "size",
    "memory_at_ten",
    "p50_at_ten",
    "cpu_load_at_ten",
    "cpu_in_all_at_ten",
    "threads_at_ten",
];

/// What stands beside the published figures; the rows are named by their metrics.
pub fn beside_published(result: &ResultFile) -> Table {
    let columns = [
        "Kotlin as shipped",
        "Rust",
        "Rust ÷ Kotlin as shipped",
        "Rust ÷ best row of Kotlin",
        "which is",
    ];
    let title = "The published figures beside ours";
    let mut table = Table::new("beside-published", title, Column::list(columns));
    table.by_name_only = true;
    for metric in PUBLISHED.iter().filter_map(|key| result.metric(key)) {
        let rust = result.rust(metric);
        let best = result.rust_against_kotlin(metric);
        let against_shipped = rust.and_then(|rust| metric.comparison(&rust.side, SHIPPED));
        table.rows.push(TableRow {
            heading: metric.heading(),
            key: metric.key.clone(),
            cells: vec![
                metric.value(SHIPPED).into(),
                rust.into(),
                against_shipped.into(),
                best.into(),
                best.map_or(Cell::Empty, |best| Cell::text(result.label(&best.against))),
            ],
        });
    }
    table
}
