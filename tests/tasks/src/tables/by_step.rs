//! What a task measures step by step, delays or numbers of peers: a table with a line per step and side, and a chart of one value.

use std::fmt::Display;

use workshop_results::file::ResultFile;
use workshop_results::shown::{Bar, Bars, Cell, Chart, Column, Drawing, Table};

/// A table and its chart.
pub struct ByStep<'a> {
    /// The table's id, its title and what is above its first column.
    pub id: &'a str,
    pub title: &'a str,
    pub corner: &'a str,
    /// What the table shows of each side, by the beginning of the metric's key, and the headings.
    pub columns: &'a [(&'a str, &'a str)],
    /// What a step counts, as at the end of the metrics' keys.
    pub unit: &'a str,
    /// What follows a step in the heading of a line.
    pub after_step: &'a str,
    /// Which value is charted, by the beginning of its metric's key, with the chart's id and title.
    pub charted: &'a str,
    pub chart: (&'a str, &'a str),
    pub drawing: fn(Vec<Bars>) -> Drawing,
}

impl ByStep<'_> {
    /// Both, of these steps.
    pub fn drawn(&self, result: &ResultFile, steps: &[impl Display]) -> (Table, Vec<Chart>) {
        let headings = self.columns.iter().map(|(_, heading)| *heading);
        let mut table = Table::new(self.id, self.title, headings.map(Column::from).collect());
        table.corner = self.corner.to_owned();
        let measured = |name: &str, side: &str, step: &dyn Display| {
            let metric = result.metric(&format!("{name}_at_{step}_{}", self.unit))?;
            Some(metric.value(side)?.value)
        };
        for step in steps {
            for side in &result.sides {
                let cells = self.columns.iter();
                let cells = cells.map(|(name, _)| Cell::from(measured(name, &side.id, step)));
                let heading = format!("{step}{}, {}", self.after_step, result.heading(&side.id));
                table.row(heading, cells.collect());
            }
        }
        let groups = result.sides.iter().map(|side| Bars {
            name: result.heading(&side.id),
            bars: steps
                .iter()
                .filter_map(|step| {
                    Some(Bar {
                        label: format!("{step} {}", self.unit),
                        value: measured(self.charted, &side.id, step)?,
                        mark: String::new(),
                    })
                })
                .collect(),
        });
        let (id, title) = self.chart;
        let chart = Chart {
            id: id.to_owned(),
            title: title.to_owned(),
            drawing: (self.drawing)(groups.collect()),
        };
        (table, vec![chart])
    }
}
