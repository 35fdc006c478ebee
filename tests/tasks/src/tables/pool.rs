//! Exercise 6: throughput by the size of the pool, with the knee of each side.

use std::collections::BTreeMap;

use workshop_results::figures::figure;
use workshop_results::file::{ResultFile, Side};
use workshop_results::key::{At, CONNECTIONS, Key, P99, THROUGHPUT};
use workshop_results::shown::{Bar, Bars, Cell, Chart, Column, Drawing, Table};

/// The share of the best throughput that is enough: the noise of a block is as large.
const ENOUGH: f64 = 0.95;
/// What the database alone is called beside the sides.
const DATABASE: &str = "pgbench";

/// The smallest pool of a side that reaches nearly what its best one does.
#[derive(Debug, Clone, PartialEq)]
struct Knee {
    size: u16,
    /// Its throughput as a share of the best.
    share: f64,
    /// The size of the pool with the best throughput.
    best: u16,
}

fn knee(throughputs: &BTreeMap<u16, f64>) -> Option<Knee> {
    let by_throughput = |one: &(&u16, &f64), other: &(&u16, &f64)| one.1.total_cmp(other.1);
    let (best, most) = throughputs.iter().max_by(by_throughput)?;
    let mut enough = throughputs
        .iter()
        .filter(|(_, rate)| **rate >= ENOUGH * most);
    let (size, throughput) = enough.next()?;
    Some(Knee {
        size: *size,
        share: throughput / most,
        best: *best,
    })
}

/// Pools of several sizes under the same load: a row and a bar per size, of the sides that were measured with every one.
/// `database` is what pgbench reads per second with as many clients.
pub fn drawn(
    result: &ResultFile,
    sides: &[String],
    sizes: &[u16],
    database: &BTreeMap<u16, f64>,
) -> (Table, Chart) {
    let sides = result.sides.iter().filter(|side| sides.contains(&side.id));
    let sides: Vec<&Side> = sides.collect();
    let measured =
        |key: Key, side: &Side, size: u16| result.value(&key.at(At::Pool(size)), &side.id);
    let columns = sides.iter().flat_map(|side| {
        let headings = ["requests/s", "p99 (ms)", "opened"];
        Column::grouped(&side.language.to_string(), headings)
    });
    let title = format!(
        "{} connections of load on pools of several sizes; pgbench with as many clients, without a service",
        result.manifest.connections
    );
    let columns = columns.chain(["pgbench (records/s)".into()]).collect();
    let mut table = Table::new("pools", title, columns);
    table.corner = "Pool".to_owned();
    for size in sizes {
        let of_side = |side: &&Side| {
            [THROUGHPUT, P99, CONNECTIONS].map(|key| measured(key, side, *size).into())
        };
        let mut cells: Vec<Cell> = sides.iter().flat_map(of_side).collect();
        cells.push(database.get(size).copied().into());
        table.row(size.to_string(), cells);
    }
    let mut groups = Vec::new();
    for side in sides {
        let rate = |size: &u16| Some((*size, measured(THROUGHPUT, side, *size)?));
        let throughputs: BTreeMap<u16, f64> = sizes.iter().filter_map(rate).collect();
        let knee = knee(&throughputs);
        let bars = throughputs.iter().map(|(size, rate)| {
            let is_knee = knee.as_ref().is_some_and(|knee| knee.size == *size);
            Bar {
                label: size.to_string(),
                value: *rate,
                mark: if is_knee { "the knee" } else { "" }.to_owned(),
            }
        });
        groups.push(Bars {
            name: side.language.to_string(),
            bars: bars.collect(),
        });
        table
            .notes
            .extend(knee.map(|knee| knee.in_words(&side.label)));
    }
    let of_database = knee(database);
    table
        .notes
        .extend(of_database.map(|knee| knee.in_words(DATABASE)));
    let chart = Chart {
        id: "throughput-by-pool".to_owned(),
        title: "Requests per second by the size of the pool.".to_owned(),
        drawing: Drawing::Bars(groups),
    };
    (table, chart)
}

impl Knee {
    /// Where more connections stop to help.
    fn in_words(&self, whose: &str) -> String {
        format!(
            "{whose}: the knee, which is the smallest pool with at least {} % of the best throughput, is {} ({} %; the best is at {})",
            figure((ENOUGH * 100.0).round()),
            self.size,
            figure((self.share * 100.0).round()),
            self.best
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_knee_is_the_smallest_pool_within_five_percent_of_the_best() {
        let throughputs = [
            (2, 5000.0),
            (4, 9000.0),
            (8, 9600.0),
            (16, 10_000.0),
            (32, 9900.0),
        ];
        let knee = knee(&throughputs.into()).unwrap();
        assert_eq!((knee.size, knee.best), (8, 16));
        assert!((knee.share - 0.96).abs() < 1e-9);
        assert_eq!(super::knee(&BTreeMap::new()), None);
    }
}
