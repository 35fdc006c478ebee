//! Exercise 8: what stands beside the published figures.

use workshop_results::file::ResultFile;
use workshop_results::key::{CPU_IN_ALL, CPU_LOAD, Key, MEMORY, P50, SIZE, TEN, THREADS};
use workshop_results::shown::{Cell, Column, Table, TableRow};

/// The Kotlin service as shipped.
const SHIPPED: &str = "kotlin";
/// The published rows that are measured here as well, under the article's load.
const PUBLISHED: [Key; 5] = [MEMORY, P50, CPU_LOAD, CPU_IN_ALL, THREADS];

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
    let published = PUBLISHED.map(|key| key.at(TEN));
    let published = [SIZE].into_iter().chain(published);
    for metric in published.filter_map(|key| result.metric(&key)) {
        let rust = result.rust(metric);
        let best = result.rust_against_kotlin(metric);
        let against_shipped = rust.and_then(|rust| metric.comparison(&rust.side, SHIPPED));
        table.rows.push(TableRow {
            heading: metric.heading(),
            key: metric.key.to_string(),
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
