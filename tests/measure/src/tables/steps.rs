//! What is measured step by step, delays or numbers of peers: a line per step and side, and a chart of one value.

use serde::Deserialize;

use workshop_results::file::ResultFile;
use workshop_results::shown::{Bar, Bars, Cell, Chart, Column, Drawing, Table};

/// A table and its chart. The keys of its metrics are `NAME_at_STEP_UNIT`.
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
    columns: Vec<(String, String)>,
    chart: Charted,
}

/// The chart of one of the metrics.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Charted {
    of: String,
    id: String,
    title: String,
    lines: bool,
}

impl Steps {
    /// Both.
    pub fn drawn(&self, result: &ResultFile) -> (Table, Chart) {
        let steps = self.steps(result);
        let measured = |name: &str, side: &str, step: &str| {
            result.value(&format!("{name}_at_{step}_{}", self.unit), side)
        };
        let headings = self.columns.iter();
        let headings = headings.map(|(_, heading)| Column::from(heading.as_str()));
        let mut table = Table::new(&self.id, &self.title, headings.collect());
        table.corner.clone_from(&self.corner);
        for step in &steps {
            for side in &result.sides {
                let cells = self.columns.iter();
                let cells = cells.map(|(name, _)| Cell::from(measured(name, &side.id, step)));
                let heading = format!("{step}{}, {}", self.after_step, result.heading(&side.id));
                table.row(heading, cells.collect());
            }
        }
        let groups = result.sides.iter().map(|side| {
            let bars = steps.iter().filter_map(|step| {
                Some(Bar {
                    label: format!("{step} {}", self.unit),
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

    /// The steps that were measured, in their order.
    fn steps<'r>(&self, result: &'r ResultFile) -> Vec<&'r str> {
        let end = format!("_{}", self.unit);
        let mut steps = Vec::new();
        for metric in &result.metrics {
            let name = metric.key.strip_suffix(&end);
            if let Some((_, step)) = name.and_then(|name| name.rsplit_once("_at_"))
                && !steps.contains(&step)
            {
                steps.push(step);
            }
        }
        steps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_that_was_measured_has_a_line_per_side_and_a_bar() {
        let mut result: ResultFile =
            serde_json::from_str(include_str!("../../../results/src/sample.json")).unwrap();
        for key in ["p99_at_500_peers", "p99_at_1000_peers", "p99_at_60"] {
            let mut metric = result.metrics[0].clone();
            metric.key = key.to_owned();
            result.metrics.push(metric);
        }
        let steps = Steps {
            id: "peers".to_owned(),
            title: String::new(),
            corner: String::new(),
            unit: "peers".to_owned(),
            after_step: String::new(),
            columns: vec![("p99".to_owned(), "p99 (ms)".to_owned())],
            chart: Charted {
                of: "p99".to_owned(),
                id: String::new(),
                title: String::new(),
                lines: true,
            },
        };
        let (table, chart) = steps.drawn(&result);
        assert_eq!(table.rows.len(), 2 * result.sides.len());
        assert!(table.rows[0].heading.starts_with("500, "), "{table:?}");
        let Drawing::Lines(lines) = chart.drawing else {
            panic!("no lines");
        };
        let labels: Vec<&str> = lines[0].bars.iter().map(|bar| bar.label.as_str()).collect();
        assert_eq!(labels, ["500 peers", "1000 peers"]);
    }
}
