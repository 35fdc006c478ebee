//! What is measured step by step, delays or numbers of peers: a line per step and side, and a chart of one value.

use serde::Deserialize;

use workshop_results::file::ResultFile;
use workshop_results::key::{At, Key};
use workshop_results::shown::{Bar, Bars, Cell, Chart, Column, Drawing, Table};

/// A table and its chart.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Steps {
    id: String,
    title: String,
    corner: String,
    unit: String,
    /// What follows a step in the heading of a line.
    #[serde(default)]
    after_step: String,
    /// The names of metrics, and the headings.
    columns: Vec<(Key, String)>,
    chart: Charted,
}

/// The chart of one of the metrics.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Charted {
    of: Key,
    id: String,
    title: String,
    lines: bool,
}

impl Steps {
    /// Both, of these steps.
    pub fn drawn(&self, result: &ResultFile, steps: &[At]) -> (Table, Chart) {
        let measured = |key: &Key, side: &str, step: At| result.value(&key.at(step), side);
        let headings = self.columns.iter();
        let headings = headings.map(|(_, heading)| Column::from(heading.as_str()));
        let mut table = Table::new(&self.id, &self.title, headings.collect());
        table.corner.clone_from(&self.corner);
        for step in steps.iter().copied() {
            for side in &result.sides {
                let cells = self.columns.iter();
                let cells = cells.map(|(key, _)| Cell::from(measured(key, &side.id, step)));
                let (words, of) = (step.words(), result.heading(&side.id));
                let heading = format!("{words}{}, {of}", self.after_step);
                table.row(heading, cells.collect());
            }
        }
        let groups = result.sides.iter().map(|side| {
            let bars = steps.iter().copied().filter_map(|step| {
                Some(Bar {
                    label: format!("{} {}", step.words(), self.unit),
                    value: measured(&self.chart.of, &side.id, step)?,
                    mark: String::new(),
                })
            });
            Bars {
                name: result.heading(&side.id),
                bars: bars.collect(),
            }
        });
        let groups = groups.collect();
        let chart = Chart {
            id: self.chart.id.clone(),
            title: self.chart.title.clone(),
            drawing: match self.chart.lines {
                true => Drawing::Lines(groups),
                false => Drawing::Bars(groups),
            },
        };
        (table, chart)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use workshop_results::key::P99;

    #[test]
    fn every_step_that_was_measured_has_a_line_per_side_and_a_bar() {
        let mut result: ResultFile =
            serde_json::from_str(include_str!("../../../results/src/sample.json")).unwrap();
        let sizes = [At::Peers(500), At::Peers(1000)];
        for size in sizes {
            let mut metric = result.metrics[0].clone();
            metric.key = P99.at(size);
            result.metrics.push(metric);
        }
        let steps = Steps {
            id: "peers".to_owned(),
            title: String::new(),
            corner: String::new(),
            unit: "peers".to_owned(),
            after_step: String::new(),
            columns: vec![(P99, "p99 (ms)".to_owned())],
            chart: Charted {
                of: P99,
                id: String::new(),
                title: String::new(),
                lines: true,
            },
        };
        let (table, chart) = steps.drawn(&result, &sizes);
        assert_eq!(table.rows.len(), 2 * result.sides.len());
        assert!(table.rows[0].heading.starts_with("500, "), "{table:?}");
        let Drawing::Lines(lines) = chart.drawing else {
            panic!("no lines");
        };
        let labels: Vec<&str> = lines[0].bars.iter().map(|bar| bar.label.as_str()).collect();
        assert_eq!(labels, ["500 peers", "1000 peers"]);
    }
}
