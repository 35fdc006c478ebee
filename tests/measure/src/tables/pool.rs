//! Exercise 6: throughput by the size of the pool, with the knee of each side.

use std::collections::BTreeMap;

use workshop_base::target::Language;
use workshop_results::figures::figure;
use workshop_results::file::{ResultFile, Side};
use workshop_results::metrics::pool_end;
use workshop_results::shown::{Bar, Bars, Cell, Chart, Column, Drawing, Table};

/// Pools of several sizes under the same load. The values are metrics with the size at the end of their keys.
#[derive(Debug)]
pub struct PoolSweep {
    /// The sizes, rising.
    pub sizes: Vec<u16>,
    /// The share of the best throughput that a pool must reach to count as large enough.
    pub enough: f64,
    /// Where each side's knee is, and that of `pgbench`.
    pub knees: Vec<Knee>,
    /// What pgbench reads per second with as many clients, by size; empty where there is no pgbench.
    pub database: BTreeMap<u16, f64>,
}

/// The smallest pool of a side that reaches nearly what its best one does.
#[derive(Debug, Clone, PartialEq)]
pub struct Knee {
    /// The side's id.
    pub side: String,
    /// The size of that pool.
    pub size: u16,
    /// Its throughput as a share of the best.
    pub share: f64,
    /// The size of the pool with the best throughput.
    pub best: u16,
}

/// The sides that were measured with every size: the first of each language.
fn sides(result: &ResultFile) -> Vec<&Side> {
    let first = |language| result.sides_in(language).next();
    [Language::Kotlin, Language::Rust]
        .into_iter()
        .filter_map(first)
        .collect()
}

/// A side's value of a metric with a pool of this size.
fn measured(result: &ResultFile, key: &str, side: &str, size: u16) -> Option<f64> {
    let metric = result.metric(&format!("{key}{}", pool_end(size)))?;
    Some(metric.value(side)?.value)
}

fn is_knee(sweep: &PoolSweep, side: &str, size: u16) -> bool {
    let here = |knee: &&Knee| knee.side == side && knee.size == size;
    sweep.knees.iter().any(|knee| here(&knee))
}

/// A row per size.
pub fn pools(result: &ResultFile, sweep: &PoolSweep) -> Table {
    let sides = sides(result);
    let mut columns: Vec<Column> = sides
        .iter()
        .flat_map(|side| {
            ["requests/s", "p99 (ms)", "opened"].map(|heading| Column {
                group: side.language.to_string(),
                heading: heading.to_owned(),
            })
        })
        .collect();
    columns.push("pgbench (records/s)".into());
    let mut table = Table::new(
        "pools",
        format!(
            "{} connections of load on pools of several sizes; pgbench with as many clients, without a service",
            result.manifest.connections
        ),
        columns,
    );
    table.corner = "Pool".to_owned();
    for size in &sweep.sizes {
        let of_side = |side: &&Side| {
            ["throughput", "p99", "connections"]
                .map(|key| Cell::from(measured(result, key, &side.id, *size)))
        };
        let mut cells: Vec<Cell> = sides.iter().flat_map(of_side).collect();
        cells.push(sweep.database.get(size).copied().into());
        table.row(size.to_string(), cells);
    }
    table.notes = sweep
        .knees
        .iter()
        .map(|knee| finding(result, sweep, knee))
        .collect();
    table
}

/// Where more connections stop to help.
fn finding(result: &ResultFile, sweep: &PoolSweep, knee: &Knee) -> String {
    format!(
        "{}: the knee, which is the smallest pool with at least {} % of the best throughput, is {} ({} %; the best is at {})",
        result.label(&knee.side),
        figure((sweep.enough * 100.0).round()),
        knee.size,
        figure((knee.share * 100.0).round()),
        knee.best
    )
}

/// Throughput as bars, one per size.
pub fn throughput(result: &ResultFile, sweep: &PoolSweep) -> Chart {
    let bars = |side: &&Side| Bars {
        name: side.language.to_string(),
        bars: sweep
            .sizes
            .iter()
            .filter_map(|size| {
                let knee = is_knee(sweep, &side.id, *size);
                Some(Bar {
                    label: size.to_string(),
                    value: measured(result, "throughput", &side.id, *size)?,
                    mark: if knee { "the knee" } else { "" }.to_owned(),
                })
            })
            .collect(),
    };
    Chart {
        id: "throughput-by-pool".to_owned(),
        title: "Requests per second by the size of the pool.".to_owned(),
        drawing: Drawing::Bars(sides(result).iter().map(bars).collect()),
    }
}
