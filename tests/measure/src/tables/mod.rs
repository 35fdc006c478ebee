//! What is shown beside the metrics: tables of sides by metrics, what is measured in steps and the goals of the port are data, in
//! `tables.toml`, and drawn here.

mod goals;
mod steps;

use std::collections::BTreeMap;

use anyhow::Context;
use serde::Deserialize;

use crate::protocol::subject::Subject;
use workshop_results::file::{Better, Metric, ResultFile};
use workshop_results::key::{At, Key};
use workshop_results::shown::{Cell, Column, Table, TableRow, unique};

/// `tables.toml`.
#[derive(Deserialize)]
struct TablesFile {
    sides: BTreeMap<String, Vec<Sheet>>,
    goals: BTreeMap<String, Vec<goals::Goal>>,
    steps: BTreeMap<String, steps::Steps>,
}

/// A table of sides by metrics.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sheet {
    id: String,
    title: String,
    #[serde(default)]
    corner: String,
    #[serde(default)]
    by_name_only: bool,
    #[serde(default)]
    rows: TableRows,
    best_first: Option<Key>,
    columns: Vec<String>,
}

#[derive(Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum TableRows {
    #[default]
    All,
    Variants,
}

/// Gives a result the tables and charts that `tables.toml` declares for its task.
pub fn add_declared(result: &mut ResultFile, subjects: &[Subject]) -> anyhow::Result<()> {
    let file: TablesFile = toml::from_str(include_str!("../tables.toml"))?;
    let sheets = file.sides.get(&result.task).into_iter().flatten();
    let mut tables: Vec<Table> = sheets
        .flat_map(|sheet| sheet.drawn(result, subjects))
        .collect();
    if let Some(goals) = file.goals.get(&result.task) {
        tables.push(goals::table(result, goals));
    }
    result.tables.extend(tables);
    Ok(())
}

/// Gives a result the table and the chart that `tables.toml` declares for its task, of what was measured in these steps.
pub fn add_steps(result: &mut ResultFile, steps: &[At]) -> anyhow::Result<()> {
    add_steps_of(&result.task.clone(), result, steps)
}

/// The same under another name than the task's, which has several of them.
pub fn add_steps_of(name: &str, result: &mut ResultFile, steps: &[At]) -> anyhow::Result<()> {
    let file: TablesFile = toml::from_str(include_str!("../tables.toml"))?;
    let declared = file.steps.get(name);
    let declared = declared.with_context(|| format!("tables.toml has no steps of {name}"))?;
    let (table, chart) = declared.drawn(result, steps);
    result.tables.push(table);
    result.charts.push(chart);
    Ok(())
}

/// One column: the value of a metric, or its ratio to a side.
enum DrawnTable<'a> {
    Value(&'a Metric),
    Ratio(&'a Metric, Option<&'a str>),
}

impl Sheet {
    /// One table, and another for the peers that are compared with a side of their own: a column of ratios has one
    /// denominator, which its heading names.
    fn drawn(&self, result: &ResultFile, subjects: &[Subject]) -> Vec<Table> {
        let columns: Vec<DrawnTable<'_>> = self
            .columns
            .iter()
            .filter_map(|column| match column.split_once('÷') {
                None => Some(DrawnTable::Value(result.metric(&Key::of_data(column))?)),
                Some((key, side)) => {
                    let side = Some(side.trim()).filter(|side| !side.is_empty());
                    Some(DrawnTable::Ratio(
                        result.metric(&Key::of_data(key.trim()))?,
                        side,
                    ))
                }
            })
            .collect();
        let sorted = self.sorted(result, subjects);
        let first = subjects.first().map_or("", Subject::id);
        let is_own = |column: &DrawnTable<'_>| matches!(column, DrawnTable::Ratio(_, None));
        let grounds = match columns.iter().any(is_own) {
            true => unique(
                [first]
                    .into_iter()
                    .chain(sorted.iter().map(|one| ground(one, first))),
            ),
            false => vec![first],
        };
        let tables = grounds.iter().map(|against| {
            let is_here = |one: &&&Subject| {
                grounds.len() == 1 || ground(one, first) == *against || one.id() == *against
            };
            let shown = sorted.iter().filter(is_here).copied();
            self.table(&columns, against, subjects, shown)
        });
        tables.filter(|table| !table.rows.is_empty()).collect()
    }

    fn table<'s>(
        &self,
        columns: &[DrawnTable<'_>],
        ground: &str,
        subjects: &[Subject],
        shown: impl Iterator<Item = &'s Subject>,
    ) -> Table {
        let headings = columns
            .iter()
            .map(|column| column.heading(columns, ground, subjects));
        let mut table = Table::new(&self.id, &self.title, headings.collect());
        table.corner.clone_from(&self.corner);
        table.by_name_only = self.by_name_only;
        for subject in shown {
            let cells = columns.iter().map(|column| match subject.id() == ground {
                true => column.cell(subject, Some(ground)),
                false => column.cell(subject, None),
            });
            let cells: Vec<Cell> = cells.collect();
            if cells.iter().any(|cell| *cell != Cell::Empty) {
                table.rows.push(TableRow {
                    heading: heading(subject),
                    key: subject
                        .row
                        .tier
                        .map_or_else(String::new, |tier| tier.to_string()),
                    cells,
                });
            }
        }
        // Two services before and after the same change: each is compared with its own row.
        for (place, column) in columns.iter().enumerate() {
            let ones = table.rows.iter().map(|row| row.cell(place));
            let ones = ones.filter(|cell| **cell == Cell::Count(1)).count();
            if ones > 1 && matches!(column, DrawnTable::Ratio(_, None)) {
                table.columns[place] = Column::from("÷ the row with 1");
            }
        }
        table
    }

    fn sorted<'s>(&self, result: &ResultFile, subjects: &'s [Subject]) -> Vec<&'s Subject> {
        let shown = subjects
            .iter()
            .filter(|subject| self.rows == TableRows::All || subject.row.variant.is_some());
        let mut shown: Vec<&Subject> = shown.collect();
        if let Some(metric) = self.best_first.as_ref().and_then(|key| result.metric(key)) {
            let value =
                |subject: &Subject| metric.value(subject.id()).map_or(0.0, |value| value.value);
            shown.sort_by(|one, other| value(other).total_cmp(&value(one)));
            if metric.better != Better::Higher {
                shown.reverse();
            }
        }
        shown
    }
}

impl DrawnTable<'_> {
    /// `Throughput (requests/s)`, or `÷ Kotlin alone`: sides are called what their rows are.
    fn heading(&self, beside: &[DrawnTable<'_>], ground: &str, subjects: &[Subject]) -> Column {
        let heading = match self {
            DrawnTable::Value(metric) => metric.heading(),
            DrawnTable::Ratio(metric, side) => {
                let value = |column: &DrawnTable<'_>| matches!(column, DrawnTable::Value(shown) if shown.key == metric.key);
                let against = side.unwrap_or(ground);
                let mut subjects = subjects.iter();
                let label = subjects.find(|subject| subject.id() == against);
                let label = label.map_or(against, |subject| &subject.side.label);
                match beside.iter().any(value) {
                    true => format!("÷ {label}"),
                    false => metric.name.clone(),
                }
            }
        };
        Column::from(heading.as_str())
    }

    /// The cell of a side; in a table of ratios to this very side, they are to itself.
    fn cell(&self, subject: &Subject, ground: Option<&str>) -> Cell {
        match self {
            DrawnTable::Value(metric) => metric.value(subject.id()).into(),
            DrawnTable::Ratio(metric, side) => {
                let own = subject.against.first().map(String::as_str);
                let against = side.or(ground).or(own);
                ratio(metric, subject.id(), against.unwrap_or(subject.id()))
            }
        }
    }
}

/// The side that a subject's ratios are to, if that needs a table of its own: only a peer may not be compared with the first side.
fn ground<'s>(subject: &'s Subject, first: &'s str) -> &'s str {
    match subject.side.peer {
        true if subject.id() == first => first,
        true => subject.against.first().map_or(subject.id(), |other| other),
        false => first,
    }
}

/// `3: A call away`, where there are tiers.
pub fn heading(subject: &Subject) -> String {
    let label = &subject.side.label;
    match subject.row.tier {
        Some(tier) => format!("{tier}: {label}"),
        None => label.clone(),
    }
}

/// One side compared with another: with a verdict where that was judged, else by their values; 1 for the other itself.
pub fn ratio(metric: &Metric, side: &str, against: &str) -> Cell {
    let value = |side: &str| Some(metric.value(side)?.value);
    match metric.comparison(side, against) {
        _ if side == against && value(side).is_some() => Cell::Count(1),
        Some(comparison) => Some(comparison).into(),
        None => value(side)
            .zip(value(against))
            .map(|(side, against)| side / against)
            .into(),
    }
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
    format!("to see it yourself: `{command}`")
}

#[cfg(test)]
mod tests {
    use super::*;
    use workshop_base::workspace::Workspace;

    #[test]
    fn every_column_and_every_goal_is_of_a_metric_that_is_measured() -> anyhow::Result<()> {
        let checkout = Workspace::at(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
        let file: TablesFile = toml::from_str(include_str!("../tables.toml"))?;
        let committed = std::fs::read_dir(checkout.reference_results())?;
        let paths = committed.flatten().map(|entry| entry.path());
        for path in paths.filter(|path| path.extension() == Some("json".as_ref())) {
            let result = ResultFile::read(&path)?;
            let sheets = file.sides.get(&result.task).into_iter().flatten();
            let columns = sheets.flat_map(|sheet| &sheet.columns);
            let columns = columns.filter_map(|column| column.split('÷').next());
            let goals = file.goals.get(&result.task).into_iter().flatten();
            let keys = columns.map(|key| Key::of_data(key.trim()));
            for key in keys.chain(goals.map(|goal| goal.metric.clone())) {
                assert!(result.metric(&key).is_some(), "{}: {key}", result.task);
            }
        }
        Ok(())
    }
}
