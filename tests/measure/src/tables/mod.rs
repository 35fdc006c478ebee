//! What the tasks show beside their metrics: one file per task that has something, with its data and its tables and charts.

pub mod article;
pub mod calibration;
pub mod calls;
pub mod export;
pub mod guard;
pub mod ladder;
pub mod pool;
pub mod program;
pub mod stall;

use std::collections::BTreeMap;

use workshop_results::file::ResultFile;
use workshop_results::shown::{Cell, Column, Table};

/// A row per side, a column per metric; sides without any of the values are left out.
pub fn sides_by_metrics(id: &str, title: &str, result: &ResultFile, keys: &[&str]) -> Table {
    let metrics: Vec<_> = keys.iter().filter_map(|key| result.metric(key)).collect();
    let columns = metrics
        .iter()
        .map(|metric| Column::from(metric.heading().as_str()));
    let mut table = Table::new(id, title, columns.collect());
    for side in &result.sides {
        let values: Vec<Cell> = metrics
            .iter()
            .map(|metric| metric.value(&side.id).into())
            .collect();
        if values.iter().any(|cell| *cell != Cell::Empty) {
            table.row(&side.label, values);
        }
    }
    table
}

/// How often each status was answered, in words.
pub fn statuses(counts: &BTreeMap<String, u64>) -> String {
    let counts = counts
        .iter()
        .map(|(status, count)| format!("{status}: {}", workshop_results::figures::count(*count)));
    counts.collect::<Vec<_>>().join(", ")
}

/// How a reader repeats a run by hand.
pub fn see_it_yourself(command: &str) -> String {
    format!("to see it yourself: {command}")
}
