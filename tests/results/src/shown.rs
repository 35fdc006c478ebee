//! What a measurement shows: tables and charts as data. A task attaches them to its result file; the writers
//! make terminal text, HTML and Markdown of them, and know no task.

use serde::{Deserialize, Serialize};

use crate::comparison::{Comparison, SideValue, Verdict};

/// A table: rows with a heading each, and cells under columns.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// The name by which a page asks for this table alone: `{{#results exercise-8 ceiling}}`. Tables of one name in a result
    /// belong together.
    pub id: String,
    /// The title, without whose figures they are; the writers add that.
    pub title: String,
    /// What is shown only where a page names it; other tables appear wherever the result does.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_name_only: bool,
    /// What the rows are: `Pool`, `Tier`; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub corner: String,
    /// The columns after the rows' headings.
    pub columns: Vec<Column>,
    /// The rows.
    pub rows: Vec<TableRow>,
    /// Sentences below the table: findings, how to see it yourself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// The heading of a column.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// What neighboring columns have in common, as a heading above theirs: `Kotlin`; empty for none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// The heading; a unit at its end in parentheses: `p99 (ms)`.
    pub heading: String,
}

/// One row of a table.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct TableRow {
    /// The heading; a unit at its end in parentheses: `Throughput (requests/s)`.
    pub heading: String,
    /// What published figures use to name this row; empty where none do.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub key: String,
    /// A cell per column; missing ones at the end are empty.
    pub cells: Vec<Cell>,
}

impl TableRow {
    /// The cell in this column.
    pub fn cell(&self, column: usize) -> &Cell {
        self.cells.get(column).unwrap_or(&Cell::Empty)
    }
}

/// One cell. In JSON: null, a whole number, a number with a point, a text, or an object.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Cell {
    /// Not measured.
    #[default]
    Empty,
    /// A count, shown in full: statuses, bytes, rows.
    Count(u64),
    /// A measured value, shown with three significant digits, in the unit of its column or row.
    Number(f64),
    /// Words.
    Text(String),
    /// A value with its spread.
    Range {
        /// The mean.
        value: f64,
        /// The least.
        least: f64,
        /// The most.
        most: f64,
    },
    /// One side divided by another.
    Ratio(Ratio),
}

/// A ratio with its 95 % interval and what can be said of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ratio {
    /// The ratio; none when it is invalid.
    pub ratio: Option<f64>,
    /// The lower end of the interval; none where nothing varies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// The upper end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// The verdict.
    pub verdict: Verdict,
    /// Why it is invalid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// How many times its lower end the upper end of an interval may be before the interval says nothing.
const WIDE: f64 = 4.0;

impl Ratio {
    /// True where the interval is so wide that neither a difference nor its absence can be read off it.
    pub fn says_nothing(&self) -> bool {
        let wide = self.low.zip(self.high);
        let wide = wide.is_some_and(|(low, high)| high > WIDE * low);
        wide && self.verdict == Verdict::NoDifferenceShown
    }
}

/// A chart.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Chart {
    /// The name by which a page asks for this chart alone. Unique within a result, tables included.
    pub id: String,
    /// The caption.
    pub title: String,
    /// What is drawn.
    pub drawing: Drawing,
}

/// What a chart draws.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Drawing {
    /// Ratios with their intervals on a logarithmic axis with 1 in it.
    Ratios(Vec<RatioRow>),
    /// Bars in groups, all on one scale from 0.
    Bars(Vec<Bars>),
    /// The same values as a line for each group, which shows where the groups part.
    Lines(Vec<Bars>),
    /// The slowest request of each moment of a run.
    Course(Course),
}

/// The ratios of one metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RatioRow {
    /// The metric.
    pub name: String,
    /// `more is better` or `less is better`.
    pub sense: String,
    /// The ratios: the reference's first, then the reader's.
    pub marks: Vec<Mark>,
    /// True where the marks are people's: each has its name beside it then, and what that person had predicted.
    pub named: bool,
}

impl RatioRow {
    /// True where a ratio above 1 is good for the side above the bar.
    pub fn more_is_better(&self) -> bool {
        self.sense == MORE_IS_BETTER
    }
}

/// What is said of a metric of which more is better.
pub const MORE_IS_BETTER: &str = "more is better";

/// A ratio, and whose it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Mark {
    /// Whose.
    pub whose: String,
    /// The ratio.
    pub ratio: Ratio,
    /// What was predicted, where that is drawn as well.
    pub predicted: Option<f64>,
}

/// Bars below one heading, or the points of one line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bars {
    /// The heading: a side.
    pub name: String,
    /// The bars, or the points.
    pub bars: Vec<Bar>,
}

/// One bar.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bar {
    /// What it is the value of.
    pub label: String,
    /// The value.
    pub value: f64,
    /// What is remarkable about it: `the knee`; empty for nothing.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub mark: String,
}

/// Runs over time, one panel each on one scale.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Course {
    /// The length of the run, in seconds.
    pub seconds: f64,
    /// From when to when the gray band goes, in seconds.
    pub band: (f64, f64),
    /// The panels.
    pub panels: Vec<Panel>,
}

/// One run over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Panel {
    /// The heading.
    pub name: String,
    /// True for the panels in the background's color.
    pub faint: bool,
    /// Milliseconds per moment of equal length; none when there was no request.
    pub moments: Vec<Option<f64>>,
}

impl Table {
    /// A table without rows.
    pub fn new(id: &str, title: impl Into<String>, columns: Vec<Column>) -> Self {
        Table {
            id: id.to_owned(),
            title: title.into(),
            columns,
            ..Table::default()
        }
    }

    /// Adds a row.
    pub fn row(&mut self, heading: impl Into<String>, cells: Vec<Cell>) {
        self.rows.push(TableRow {
            heading: heading.into(),
            key: String::new(),
            cells,
        });
    }
}

impl Column {
    /// Columns without groups.
    pub fn list<'a>(headings: impl IntoIterator<Item = &'a str>) -> Vec<Column> {
        headings.into_iter().map(Column::from).collect()
    }

    /// Columns with this above their headings.
    pub fn grouped<const N: usize>(group: &str, headings: [&str; N]) -> [Column; N] {
        headings.map(|heading| Column {
            group: group.to_owned(),
            heading: heading.to_owned(),
        })
    }
}

impl From<&str> for Column {
    fn from(heading: &str) -> Self {
        Column {
            group: String::new(),
            heading: heading.to_owned(),
        }
    }
}

impl Cell {
    /// A text.
    pub fn text(text: impl Into<String>) -> Self {
        Cell::Text(text.into())
    }
}

impl From<Option<f64>> for Cell {
    fn from(value: Option<f64>) -> Self {
        value.map_or(Cell::Empty, Cell::Number)
    }
}

impl From<Option<&SideValue>> for Cell {
    fn from(value: Option<&SideValue>) -> Self {
        value.map(|side| side.value).into()
    }
}

impl From<&Comparison> for Ratio {
    fn from(comparison: &Comparison) -> Self {
        Ratio {
            ratio: comparison.ratio,
            low: comparison.low,
            high: comparison.high,
            verdict: comparison.verdict,
            reason: comparison.reason.clone(),
        }
    }
}

impl From<Option<&Comparison>> for Cell {
    fn from(comparison: Option<&Comparison>) -> Self {
        comparison.map_or(Cell::Empty, |comparison| Cell::Ratio(comparison.into()))
    }
}

impl Mark {
    /// All that is drawn on the axis.
    pub fn values(&self) -> impl Iterator<Item = f64> {
        let Ratio {
            ratio, low, high, ..
        } = self.ratio;
        [ratio, low, high, self.predicted].into_iter().flatten()
    }
}

impl Bars {
    /// The highest value of all groups.
    pub fn most(groups: &[Bars]) -> f64 {
        let bars = groups.iter().flat_map(|group| &group.bars);
        bars.fold(0.0, |most, bar| most.max(bar.value))
    }
}

impl Course {
    /// The highest of all moments; never 0.
    pub fn most(&self) -> f64 {
        let moments = self.panels.iter().flat_map(|panel| &panel.moments);
        moments
            .flatten()
            .fold(f64::MIN_POSITIVE, |most, latency| most.max(*latency))
    }
}

/// Each item once, in the order in which they first appear.
pub fn unique<T: PartialEq>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut unique = Vec::new();
    for item in items {
        if !unique.contains(&item) {
            unique.push(item);
        }
    }
    unique
}
