//! What is shown of a measurement, and in which order: the same for the terminal, the pages and the report.

use crate::figures::{count, figure};
use crate::file::{
    Better, Comparison, JudgedPrediction, Metric, Mode, ResultFile, Side, SideValue, Verdict,
};
use crate::key::Key;
use crate::predictions::FACTOR;
use crate::question;
use crate::shown::{
    Cell, Chart, Column, Drawing, MORE_IS_BETTER, Mark, Ratio, RatioRow, Table, unique,
};
use workshop_base::target::Language;

/// More sides than these have no room as columns; then the best of Kotlin and the target stand for all.
const MAX_SIDES: usize = 4;

/// What the committed measurements are called, and those of the reader.
pub const REFERENCE: &str = "Reference";
/// The reader's.
pub const YOURS: &str = "Yours";
const ON_YOUR_MACHINE: &str = "Yours (the reference's code on your machine)";

/// A piece of what is shown.
#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    /// A paragraph; what it begins with is emphasized.
    Text(String, String),
    /// Why something may not be believed.
    Invalid(String),
    /// A list below a title.
    List(String, Vec<String>),
    /// A table.
    Table(Table),
    /// A chart.
    Chart(Chart),
    /// What unfolds when it is asked for; the terminal leaves it out.
    Folded(String, Vec<Item>),
}

/// A measurement, and whose it is: [`REFERENCE`] or [`YOURS`]; empty where nothing is beside it.
#[derive(Debug, Clone, Copy)]
pub struct Whose<'a> {
    /// The name.
    pub name: &'a str,
    /// The measurement.
    pub result: &'a ResultFile,
}

/// Everything, for the terminal.
pub fn terminal(result: &ResultFile) -> Vec<Item> {
    let whose = Whose { name: "", result };
    let mut items = about(whose);
    items.extend(headline(&[whose]));
    let detail = |_: &ResultFile, metric: &Metric| !metric.headline;
    items
        .extend(metrics_table("detail", "In detail", &[whose], detail, MAX_SIDES).map(Item::Table));
    items.extend(attached(whose));
    items.extend(judged(result));
    items.extend(notes(result));
    items
}

/// Everything, for a page: the reference's and the reader's side by side.
pub fn page(files: &[Whose<'_>]) -> Vec<Item> {
    let mut items: Vec<Item> = files.iter().flat_map(|whose| about(*whose)).collect();
    items.extend(ratios(files).map(Item::Chart));
    items.extend(headline(files));
    items.extend(files.iter().flat_map(|whose| attached(*whose)));
    items.extend(files.iter().filter_map(|whose| judged(whose.result)));
    items.extend(files.iter().map(|whose| data(*whose)));
    items
}

/// Only the tables and charts with these ids, with what they were taken on.
pub fn named(files: &[Whose<'_>], ids: &[String]) -> Vec<Item> {
    let mut items = Vec::new();
    for whose in files {
        items.extend(about(*whose));
        for id in ids {
            let charts = whose.result.charts.iter().filter(|chart| chart.id == *id);
            items.extend(charts.map(|chart| whose.chart(chart)));
            let tables = whose.result.tables.iter().filter(|table| table.id == *id);
            items.extend(tables.map(|table| whose.table(table)));
        }
    }
    items
}

/// Whose measurement it is, what it was taken on, and why it may not be believed.
pub fn about(whose: Whose<'_>) -> Vec<Item> {
    let result = whose.result;
    let name = match whose.name {
        YOURS if result.target.starts_with("solution") => ON_YOUR_MACHINE,
        name => name,
    };
    let mut items = vec![Item::Text(name.to_owned(), provenance(result))];
    if result.sides_in(Language::Kotlin).count() > 1 {
        items.push(Item::Text(
            String::new(),
            "Kotlin was measured in several set-ups. Where a table has a single value for Kotlin, it's the best of them."
                .to_owned(),
        ));
    }
    items.extend(result.invalid.iter().cloned().map(Item::Invalid));
    items
}

/// What a measurement was taken on and how, in one line.
pub fn provenance(result: &ResultFile) -> String {
    let manifest = &result.manifest;
    let day = result.taken_at.get(..10).unwrap_or(&result.taken_at);
    let mut parts = vec![result.machine.clone(), day.to_owned()];
    if let Some(commit) = &manifest.commit {
        let changed = manifest.dirty == Some(true);
        let changes = if changed { " with changes" } else { "" };
        parts.push(format!("commit {commit}{changes}"));
    }
    let blocks = manifest.blocks;
    let plural = if blocks == 1 { "" } else { "s" };
    let several = result.sides.len() > 1;
    let per_side = if several { " per side" } else { "" };
    // Duets and chunks have blocks of their own, which the notes tell.
    if blocks > 0 {
        parts.push(format!("{blocks} block{plural}{per_side}"));
    }
    let rows = count(manifest.rows);
    parts.push(format!("data set {} ({rows} rows)", manifest.data_set));
    if result.mode == Mode::Quick {
        parts.push("a quick run, for orientation".to_owned());
    }
    format!("{}.", parts.join(", "))
}

/// The columns and the cells of metrics in a table.
struct Layout<'a> {
    result: &'a ResultFile,
    sides: Vec<&'a Side>,
    pairs: Vec<(&'a str, &'a str)>,
    /// The best of Kotlin and the target stand for all sides.
    best: bool,
}

/// Whether the best of Kotlin and the target stand for all sides, since there are more than these.
fn has_the_best(result: &ResultFile, max_sides: usize) -> bool {
    result.sides.len() > max_sides && result.sides_in(Language::Kotlin).next().is_some()
}

impl<'a> Layout<'a> {
    /// With a column per side, if there are so many at most.
    fn of(result: &'a ResultFile, metrics: &[&'a Metric], max_sides: usize) -> Self {
        let comparisons = metrics.iter().flat_map(|metric| &metric.comparisons);
        let pairs = unique(comparisons.map(|one| (one.side.as_str(), one.against.as_str())));
        let has_part = |side: &&Side| {
            let mut values = metrics.iter().map(|metric| metric.value(&side.id));
            let mut compared = pairs.iter().flat_map(|(side, against)| [side, against]);
            values.any(|value| value.is_some()) || compared.any(|id| **id == side.id)
        };
        Layout {
            sides: result.sides.iter().filter(has_part).collect(),
            pairs,
            best: has_the_best(result, max_sides),
            result,
        }
    }

    fn columns(&self) -> Vec<String> {
        if self.best {
            let rust = self.result.asked_for().map_or("Rust", |side| &side.label);
            return ["Kotlin, the best", "which is", rust, "Rust ÷ Kotlin"]
                .map(str::to_owned)
                .into();
        }
        let heading = |id: &str| self.result.heading(id);
        let ratio =
            |(side, against): &(&str, &str)| format!("{} ÷ {}", heading(side), heading(against));
        let sides = self.sides.iter().map(|side| heading(&side.id));
        sides.chain(self.pairs.iter().map(ratio)).collect()
    }

    /// What is under the columns, with `shown` for the value of a side.
    fn cells(&self, metric: Option<&Metric>, shown: fn(&SideValue) -> Cell) -> Vec<Cell> {
        let Some(metric) = metric else {
            return vec![Cell::Empty; self.columns().len()];
        };
        let value = |value: Option<&SideValue>| value.map(shown).unwrap_or_default();
        let ratio = |comparison: Option<&Comparison>| match comparison {
            Some(comparison) => Cell::Ratio(claim(self.result, comparison.into())),
            None => Cell::Empty,
        };
        if self.best {
            let kotlin = self.result.kotlin(metric);
            let which = kotlin.map(|kotlin| Cell::text(self.result.label(&kotlin.side)));
            return vec![
                value(kotlin),
                which.unwrap_or_default(),
                value(self.result.rust(metric)),
                ratio(self.result.rust_against_kotlin(metric)),
            ];
        }
        let values = self.sides.iter().map(|side| value(metric.value(&side.id)));
        let pairs = self.pairs.iter();
        let ratios = pairs.map(|(side, against)| ratio(metric.comparison(side, against)));
        values.chain(ratios).collect()
    }
}

/// The headline metrics, the one that was asked about first: the columns of one measurement, then those of the other.
pub fn headline(files: &[Whose<'_>]) -> Vec<Item> {
    let question = metrics_table(
        "question",
        "The question, named before it was measured",
        files,
        is_question,
        MAX_SIDES,
    );
    let title = question.as_ref().map_or("", |_| "Looked at as well");
    let other =
        |result: &ResultFile, metric: &Metric| metric.headline && !is_question(result, metric);
    let others = metrics_table("headline", title, files, other, MAX_SIDES);
    let tables = question.into_iter().chain(others).map(Item::Table);
    let chances = files.iter().filter_map(|whose| {
        let chance = by_chance(whose.result)?;
        Some(Item::Text(whose.name.to_owned(), chance))
    });
    tables.chain(chances).collect()
}

/// Whether this is what the measurement was made for.
fn is_question(result: &ResultFile, metric: &Metric) -> bool {
    question::of(&result.task) == Some(&metric.key)
}

/// The metrics that are `wanted`. A measurement with more sides than `max_sides` has the best of Kotlin and the target for all.
fn metrics_table(
    id: &str,
    title: &str,
    files: &[Whose<'_>],
    wanted: impl Fn(&ResultFile, &Metric) -> bool,
    max_sides: usize,
) -> Option<Table> {
    let mut table = Table::new(id, title, Vec::new());
    table.corner = "Metric".to_owned();
    let mut metrics: Vec<&Metric> = Vec::new();
    let mut layouts = Vec::new();
    for whose in files {
        let of_file = whose.result.metrics.iter();
        let of_file = of_file.filter(|metric| wanted(whose.result, metric));
        let of_file: Vec<&Metric> = of_file.collect();
        let layout = Layout::of(whose.result, &of_file, max_sides);
        let group = if files.len() > 1 { whose.name } else { "" };
        let columns = layout.columns().into_iter();
        table.columns.extend(columns.map(|heading| Column {
            group: group.to_owned(),
            heading,
        }));
        for metric in of_file {
            if !metrics.iter().any(|there| there.key == metric.key) {
                metrics.push(metric);
            }
        }
        layouts.push(layout);
    }
    for metric in metrics {
        let of_file = |layout: &Layout<'_>| {
            layout.cells(layout.result.metric(&metric.key), |side| Some(side).into())
        };
        let cells: Vec<Cell> = layouts.iter().flat_map(of_file).collect();
        if cells.iter().any(|cell| *cell != Cell::Empty) {
            table.row(metric.heading(), cells);
        }
    }
    (!table.rows.is_empty()).then_some(table)
}

fn range(value: &SideValue) -> Cell {
    Cell::Range {
        value: value.value,
        least: value.least,
        most: value.most,
    }
}

/// The chart of the headline: Rust divided by Kotlin.
pub fn ratios(files: &[Whose<'_>]) -> Option<Chart> {
    let mut rows = ratio_rows(files, false);
    for mark in rows.iter_mut().flat_map(|row| &mut row.marks) {
        mark.whose = mark.whose.to_lowercase();
    }
    (!rows.is_empty()).then(|| Chart {
        id: "ratios".to_owned(),
        title: "Rust divided by Kotlin, by metric; whiskers: 95 % interval.".to_owned(),
        drawing: Drawing::Ratios(rows),
    })
}

/// The ratios of each headline metric: a mark per measurement; named, it has what was predicted as well.
pub(crate) fn ratio_rows(files: &[Whose<'_>], named: bool) -> Vec<RatioRow> {
    let mut rows: Vec<(&Key, RatioRow)> = Vec::new();
    for whose in files.iter().filter(|whose| whose.result.invalid.is_empty()) {
        let headline = whose.result.metrics.iter().filter(|metric| metric.headline);
        let mut headline: Vec<&Metric> = headline.collect();
        headline.sort_by_key(|metric| !is_question(whose.result, metric));
        for metric in headline {
            let Some(comparison) = whose.result.rust_against_kotlin(metric) else {
                continue;
            };
            let mut judged = whose.result.predictions.iter();
            let predicted = judged.find(|judged| named && judged.key == metric.key);
            let mark = Mark {
                whose: whose.name.to_owned(),
                ratio: comparison.into(),
                predicted: predicted.map(|judged| judged.predicted),
            };
            if let Some((_, row)) = rows.iter_mut().find(|(key, _)| **key == metric.key) {
                row.marks.push(mark);
                continue;
            }
            let sense = match metric.better {
                Better::Higher => MORE_IS_BETTER,
                Better::Lower | Better::Less => "less is better",
            };
            let row = RatioRow {
                name: metric.name.clone(),
                sense: sense.to_owned(),
                marks: vec![mark],
                named,
            };
            rows.push((&metric.key, row));
        }
    }
    rows.into_iter().map(|(_, row)| row).collect()
}

/// What the task attached, but for what waits to be asked for.
pub fn attached(whose: Whose<'_>) -> Vec<Item> {
    let charts = whose.result.charts.iter().map(|chart| whose.chart(chart));
    let tables = whose.result.tables.iter();
    let tables = tables.filter(|table| !table.by_name_only);
    charts
        .chain(tables.map(|table| whose.table(table)))
        .collect()
}

/// Nothing is claimed from a measurement that is invalid as a whole; its values stay.
pub(crate) fn claim(result: &ResultFile, ratio: Ratio) -> Ratio {
    if result.invalid.is_empty() {
        return ratio;
    }
    Ratio {
        ratio: None,
        low: None,
        high: None,
        verdict: Verdict::Invalid,
        reason: ratio.reason,
    }
}

impl Whose<'_> {
    fn title(&self, title: &str) -> String {
        match self.name {
            "" => title.to_owned(),
            name => format!("{name}: {title}"),
        }
    }

    fn table(&self, table: &Table) -> Item {
        let mut table = table.clone();
        table.title = self.title(&table.title);
        for cell in table.rows.iter_mut().flat_map(|row| &mut row.cells) {
            if let Cell::Ratio(ratio) = cell {
                *ratio = claim(self.result, ratio.clone());
            }
        }
        Item::Table(table)
    }

    fn chart(&self, chart: &Chart) -> Item {
        Item::Chart(Chart {
            title: self.title(&chart.title),
            ..chart.clone()
        })
    }
}

/// The reader's predictions compared with what was measured; none where nothing was judged.
pub fn predictions<'a>(
    judged: impl IntoIterator<Item = (&'a ResultFile, &'a JudgedPrediction)>,
) -> Option<Table> {
    let title =
        format!("Your predictions of exercise 1; one holds when it is within a factor of {FACTOR}");
    let columns = [
        "You said",
        "You were sure (%)",
        "Measured",
        "Off by a factor of",
        "Verdict",
        "Measured in",
    ];
    let mut table = Table::new("predictions", title, Column::list(columns));
    table.corner = "Rust ÷ Kotlin".to_owned();
    for (result, prediction) in judged {
        let metric = result.metric(&prediction.key);
        let name = metric.map_or(prediction.key.as_str(), |metric| &*metric.name);
        let held = match prediction.held {
            true => "held",
            false => "did not hold",
        };
        let cells = vec![
            Cell::Number(prediction.predicted),
            Cell::Number(prediction.confidence),
            Cell::Number(prediction.measured),
            Cell::Number(prediction.factor),
            Cell::text(held),
            Cell::text(&result.exercise),
        ];
        table.row(name, cells);
    }
    (!table.rows.is_empty()).then_some(table)
}

fn judged(result: &ResultFile) -> Option<Item> {
    let judged = result.predictions.iter().map(|judged| (result, judged));
    predictions(judged).map(Item::Table)
}

fn notes(result: &ResultFile) -> Option<Item> {
    let title = "To read this rightly".to_owned();
    (!result.notes.is_empty()).then(|| Item::List(title, result.notes.clone()))
}

/// One comparison in how many contains no 1 although there is no difference: an interval is one of 95 %.
const BY_CHANCE: f64 = 20.0;

/// How many of the intervals that nobody asked for would show a difference although there is none.
fn by_chance(result: &ResultFile) -> Option<String> {
    let others = result.metrics.iter();
    let others = others.filter(|metric| !is_question(result, metric));
    let comparisons = others.flat_map(|metric| &metric.comparisons);
    let intervals = comparisons
        .filter(|comparison| comparison.low.is_some())
        .count();
    let expected = intervals as f64 / BY_CHANCE;
    let expected = match expected {
        ..1.0 => "fewer than one".to_owned(),
        expected => format!("about {expected:.0}"),
    };
    (intervals > 1).then(|| {
        format!(
            "{intervals} intervals here were looked at as well. If nothing differed, {expected} of them would still show a difference: take \
             those as hints."
        )
    })
}

/// Every metric with its spread, the notes and the conditions, folded away.
pub fn data(whose: Whose<'_>) -> Item {
    let result = whose.result;
    let mut items = vec![Item::Table(spread(result))];
    // Where the best of Kotlin and the target stand for all of them elsewhere.
    if has_the_best(result, MAX_SIDES) {
        let (id, title) = ("all-sides", "All sides and comparisons");
        items.extend(metrics_table(id, title, &[whose], |_, _| true, usize::MAX).map(Item::Table));
    }
    items.extend(notes(result));
    items.push(Item::Table(conditions(result)));
    let of = if whose.name.is_empty() { "" } else { ": " };
    let name = whose.name.to_lowercase();
    Item::Folded(
        format!("All values with their spread, and the conditions{of}{name}"),
        items,
    )
}

fn spread(result: &ResultFile) -> Table {
    let metrics: Vec<&Metric> = result.metrics.iter().collect();
    let layout = Layout::of(result, &metrics, MAX_SIDES);
    let headings = layout.columns();
    let mut columns = Column::list(headings.iter().map(String::as_str));
    columns.extend(Column::list(["Blocks", "Rounds", "How"]));
    let mut table = Table::new("all", "All values (least to most block)", columns);
    table.corner = "Metric".to_owned();
    for metric in metrics {
        let list = |mut counts: Vec<usize>| {
            counts.dedup();
            let counts: Vec<String> = counts.iter().map(usize::to_string).collect();
            Cell::Text(counts.join(", "))
        };
        let mut cells = layout.cells(Some(metric), range);
        cells.extend([
            list(metric.values.iter().map(|value| value.blocks).collect()),
            list(metric.comparisons.iter().map(|one| one.rounds).collect()),
            Cell::text(&metric.how),
        ]);
        table.row(metric.heading(), cells);
    }
    table
}

fn conditions(result: &ResultFile) -> Table {
    let manifest = &result.manifest;
    let machine = &manifest.machine;
    let mut table = Table::new("conditions", "Conditions", vec![Column::default()]);
    let mut row = |name: &str, text: String| table.row(name, vec![Cell::Text(text)]);
    row("CPU", format!("{}, {} cores", machine.cpu, machine.cores));
    row("Memory", format!("{} MB", count(machine.memory_mb)));
    row("System", machine.kernel.clone());
    let optional = [
        ("Governor", &machine.governor),
        ("Throttling", &machine.throttled),
        ("Virtual", &machine.virtualised),
    ];
    for (name, text) in optional {
        if let Some(text) = text {
            row(name, text.clone());
        }
    }
    row("Database", manifest.database.clone());
    for (name, version) in &manifest.versions {
        row(name, version.clone());
    }
    for (name, flag) in &manifest.flags {
        let set = if flag.is_empty() { "not set" } else { flag };
        row(name, set.to_owned());
    }
    row("Pool", format!("{} connections", manifest.pool_size));
    row("Load", format!("{} connections", manifest.connections));
    for (side, trips) in &manifest.round_trips {
        let name = format!("Database round trips per request, {side}");
        row(&name, figure(*trips));
    }
    for (percent, rate) in &manifest.rates {
        let name = format!("Offered rate at {} %", percent.trim_end_matches('%').trim());
        row(&name, format!("{} requests/s", figure(*rate)));
    }
    row("Took", format!("{} s", figure(manifest.took_s)));
    for side in &result.sides {
        row(&side.label, format!("{} ({})", side.command, side.runtime));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::sample;
    use crate::write::{html, text};

    #[test]
    fn an_invalid_measurement_shows_the_same_values_everywhere_and_claims_nothing() {
        let mut result = sample();
        let shown = |result: &ResultFile| {
            let name = YOURS;
            let page = html::write(&page(&[Whose { name, result }]));
            [
                text::write(&terminal(result)),
                page.replace('\u{202f}', " "),
            ]
        };
        for text in shown(&result) {
            assert!(text.contains("15 000") && text.contains("faster"), "{text}");
        }
        result.invalid = vec!["the bodies differ at id 7".to_owned()];
        for text in shown(&result) {
            assert!(text.contains("15 000") && text.contains("5 000"), "{text}");
            assert!(text.contains("the bodies differ at id 7"), "{text}");
            assert!(!text.contains("faster"), "{text}");
        }
    }

    #[test]
    fn the_question_comes_first_and_of_the_others_it_is_said_how_many_differ_by_chance() {
        let mut result = sample();
        let other = result.metrics[0].clone();
        let named = |key: &str, name: &str| Metric {
            key: Key::of_data(key),
            name: name.to_owned(),
            ..other.clone()
        };
        result
            .metrics
            .extend((0..24).map(|number| named(&format!("other_{number}"), "Other")));
        result
            .metrics
            .push(named("cpu_per_request", "CPU per request"));
        let text = text::write(&terminal(&result));
        let at = |words: &str| {
            let place = text.find(words);
            place.unwrap_or_else(|| panic!("{words} isn't in {text}"))
        };
        let question = at("The question, named before it was measured");
        assert!(
            question < at("CPU per request") && at("CPU per request") < at("Looked at as well")
        );
        assert!(at("Looked at as well") < at("Throughput"));
        assert!(at("25 intervals here were looked at as well. If nothing differed, about 1") > 0);
    }
}
