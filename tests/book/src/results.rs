//! `{{#results exercise-3}}` and its kin: measured and published values on the pages.

use std::path::Path;

use anyhow::Context;
use serde::Deserialize;

use crate::html::block;
use workshop_base::outcome::Trouble;
use workshop_base::target::Target;
use workshop_base::workspace::Workspace;
use workshop_results::figures::figure;
use workshop_results::file::{JudgedPrediction, ResultFile, again};
use workshop_results::key::MEMORY;
use workshop_results::report::{self, unreadable};
use workshop_results::shown::{Bar, Bars, Cell, Chart, Column, Drawing, Table};
use workshop_results::view::{self, Item, REFERENCE, Whose, YOURS};
use workshop_results::write::html;

/// `{{#results exercise-3}}`, `{{#results exercise-8 ceiling goals}}`: the committed measurement beside the reader's own, or
/// those of its tables and charts that are named.
pub fn render(workspace: &Workspace, of: &str, ids: &[String]) -> anyhow::Result<String> {
    let measured = MeasuredExercise::read(workspace, of)?;
    let files = measured.files();
    for id in ids {
        let known = |whose: &Whose<'_>| {
            let mut tables = whose.result.tables.iter().map(|table| &table.id);
            let mut charts = whose.result.charts.iter().map(|chart| &chart.id);
            tables.any(|there| there == id) || charts.any(|there| there == id)
        };
        if !files.is_empty() && !files.iter().any(known) {
            return Trouble::new(format!(
                "the results of {of} have no table or chart named {id}"
            ))
            .next("name one of those in book/reference-results")
            .err();
        }
    }
    let mut items = match ids {
        [] => view::page(&files),
        ids => view::named(&files, ids),
    };
    items.extend(measured.missing(of));
    Ok(block(&html::section(&format!("Measured: {of}"), &items)))
}

/// `{{#report}}`: all measurements of the reader on one page.
pub fn report(workspace: &Workspace) -> anyhow::Result<String> {
    let Some(report) = report::gather(workspace)? else {
        return Ok(format!(
            "\n\nYou haven't measured anything yet. Begin with `{}`; this page then shows what you have.\n\n",
            report::FIRST
        ));
    };
    let sections = report.sections.iter().map(|(heading, items)| {
        let section = block(&html::section(heading, items));
        format!("\n\n## {}\n{section}", escaped(heading))
    });
    Ok(sections.collect())
}

/// Text that Markdown and HTML take for text.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if "\\`*_[]<>|&{#~".contains(character) {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

/// `{{#guide}}`: what the reader's figures speak for.
pub fn guide(workspace: &Workspace) -> anyhow::Result<String> {
    let items = report::guide(workspace)?;
    Ok(block(&html::section("What your figures speak for", &items)))
}

/// Where the story looks for a figure of the reader's, the latest first.
const QUOTED: [&str; 3] = ["exercise-11", "exercise-8", "exercise-3"];

/// `{{#quoted}}`: what Dana reads aloud from the reader's sheet: a prediction, and what the reader measured.
pub fn quoted(workspace: &Workspace) -> anyhow::Result<String> {
    let sheet =
        "\n\nThen she takes your sheet, and reads your line for memory, and how sure you were.\n\n";
    for of in QUOTED {
        let Some(Ok(own)) = MeasuredExercise::read(workspace, of)?.own else {
            continue;
        };
        let of_memory = |judged: &&JudgedPrediction| judged.key == MEMORY;
        let judged = own.predictions.iter().find(of_memory);
        if let Some(judged) = judged.or(own.predictions.first()) {
            return Ok(told(judged, of));
        }
    }
    Ok(sheet.to_owned())
}

/// A judged prediction in Dana's words.
fn told(judged: &JudgedPrediction, of: &str) -> String {
    let JudgedPrediction {
        predicted,
        measured,
        confidence,
        ..
    } = judged;
    let what = judged
        .key
        .as_str()
        .replace('_', " ")
        .replace("start up", "the start");
    let comment = match judged.held {
        true => "You knew your service",
        false => "What did you believe then that isn't so",
    };
    let end = if judged.held { "." } else { "?" };
    format!(
        "\n\nThen she takes your sheet. \"{}, Rust divided by Kotlin: you wrote {}, and were {} % sure. Your machine said {}, in {of}. {comment}{end}\"\n\n",
        capitalized(&what),
        figure(*predicted),
        figure(*confidence),
        figure(*measured)
    )
}

fn capitalized(words: &str) -> String {
    let mut letters = words.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

/// `{{#published published-article}}`: a committed table of values that this course did not measure; with an exercise
/// after it, beside what was measured there, and what lies between.
pub fn published(
    workspace: &Workspace,
    file: &str,
    beside: Option<&str>,
) -> anyhow::Result<String> {
    let published = Published::read(workspace, file)?;
    let mut items = vec![Item::Text(published.lead.clone(), published.about.clone())];
    match beside {
        None => items.push(Item::Table(published.table())),
        Some(of) => {
            let measured = MeasuredExercise::read(workspace, of)?;
            for whose in measured.files() {
                items.extend(view::about(whose));
                items.extend(published.chart(whose).map(Item::Chart));
                items.extend(published.beside(whose).map(Item::Table));
            }
            if measured.files().is_empty() {
                items.push(Item::Table(published.table()));
            }
            items.extend(measured.missing(of));
            let between = published.row.iter().filter(|row| !row.between.is_empty());
            let between = between.map(|row| format!("{}: {}", row.heading, row.between));
            let title = "What lies between".to_owned();
            items.push(Item::List(title, between.collect()));
        }
    }
    Ok(block(&html::section(&published.title, &items)))
}

/// The committed measurement and the reader's own, as far as they are there.
struct MeasuredExercise {
    reference: Option<ResultFile>,
    /// If it's there and isn't shown, the reason in one sentence.
    own: Option<Result<ResultFile, String>>,
}

impl MeasuredExercise {
    /// A broken committed file is an error; whatever is wrong with the reader's own is said on the page.
    fn read(workspace: &Workspace, of: &str) -> anyhow::Result<Self> {
        let path = ResultFile::reference_path(workspace, of);
        let reference = path.is_file().then(|| ResultFile::read(&path)).transpose();
        let reference = reference.map_err(|error| {
            Trouble::new(format!("the committed results cannot be shown: {error}"))
                .next("measure the reference again, or git restore book/reference-results")
        })?;
        // The exercise's own, else that of the reference run on this machine; of exercise 1, that of Kotlin.
        let mut names = vec![of.to_owned()];
        if let Ok(Target::Exercise(number)) = of.parse() {
            names.push(Target::Solution(number).to_string());
            names.extend((number == 1).then(|| Target::Kotlin.to_string()));
        }
        let mut paths = names.iter().map(|name| workspace.own_result(name));
        let own = paths.find(|path| path.is_file()).map(|path| {
            ResultFile::read(&path).map_err(|error| unreadable(workspace, &path, &error))
        });
        Ok(MeasuredExercise { reference, own })
    }

    fn files(&self) -> Vec<Whose<'_>> {
        let own = self.own.as_ref().and_then(|own| own.as_ref().ok());
        let files = [(REFERENCE, self.reference.as_ref()), (YOURS, own)].into_iter();
        files
            .filter_map(|(name, result)| result.map(|result| Whose { name, result }))
            .collect()
    }

    /// What isn't there, and how to get it.
    fn missing(&self, of: &str) -> Vec<Item> {
        let no_reference = self.reference.is_none();
        let reference = no_reference.then(|| "no values are committed yet.".to_owned());
        let command = again(Path::new(of));
        let own = match &self.own {
            Some(Ok(_)) => None,
            Some(Err(why)) => Some(format!("{why} Type `{command}` to measure again.")),
            None => Some(format!(
                "not measured yet. Type `{command}`, and this page shows your values beside the reference."
            )),
        };
        let missing = [(REFERENCE, reference), (YOURS, own)].into_iter();
        missing
            .filter_map(|(name, text)| Some(Item::Text(name.to_owned(), text?)))
            .collect()
    }
}

/// A committed table of values that this course did not measure.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Published {
    /// What begins the paragraph about it: `Published`, `Counted`.
    lead: String,
    /// Where the values are from, and how they were taken.
    about: String,
    title: String,
    /// What the rows are.
    corner: String,
    columns: Vec<String>,
    row: Vec<PublishedRow>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PublishedRow {
    heading: String,
    /// The key of the row that was measured here; empty for none.
    #[serde(default)]
    ours: String,
    values: Vec<Cell>,
    /// What lies between the published values and ours, in a few sentences.
    #[serde(default)]
    between: String,
}

impl Published {
    fn read(workspace: &Workspace, file: &str) -> anyhow::Result<Self> {
        let name = format!("{file}.toml");
        let path = workspace.reference_results().join(&name);
        let read = || {
            let text = std::fs::read_to_string(&path)
                .with_context(|| format!("cannot read {}", path.display()))?;
            toml::from_str(&text).with_context(|| format!("{} is malformed", path.display()))
        };
        read().map_err(|error: anyhow::Error| {
            Trouble::new(format!("{file} cannot be shown: {error:#}"))
                .next(format!("git restore book/reference-results/{name}"))
                .into()
        })
    }

    fn table(&self) -> Table {
        let columns = Column::list(self.columns.iter().map(String::as_str));
        let mut table = Table::new("published", &self.title, columns);
        table.corner.clone_from(&self.corner);
        for row in &self.row {
            table.row(&row.heading, row.values.clone());
        }
        table
    }

    /// The ratios of each step, published and measured, as bars; nothing where one of the two tables has none.
    fn chart(&self, whose: Whose<'_>) -> Option<Chart> {
        let ours = Self::ours(whose.result)?;
        let is_ratio = |heading: &str| heading.starts_with('÷');
        let there = self.columns.iter().position(|heading| is_ratio(heading))?;
        let mut columns = ours.columns.iter();
        let here = columns.position(|column| is_ratio(&column.heading))?;
        let bar = |label: &str, cell: Option<&Cell>| {
            let (value, mark) = match cell? {
                Cell::Count(count) => (*count as f64, String::new()),
                Cell::Number(value) => (*value, String::new()),
                Cell::Ratio(ratio) => (ratio.ratio?, ratio.verdict.to_string()),
                Cell::Empty | Cell::Text(_) | Cell::Range { .. } => return None,
            };
            let label = label.to_lowercase();
            Some(Bar { label, value, mark })
        };
        let groups = self.row.iter().map(|row| {
            let measured = ours.rows.iter().find(|ours| ours.key == row.ours);
            let published = bar("published", row.values.get(there));
            let measured = bar(whose.name, measured.map(|row| row.cell(here)));
            Bars {
                name: row.heading.clone(),
                bars: published.into_iter().chain(measured).collect(),
            }
        });
        let values = there
            .checked_sub(1)
            .and_then(|place| self.columns.get(place))?;
        Some(Chart {
            id: "beside-published-chart".to_owned(),
            title: format!(
                "{values}, divided by those of the first {}: published, and here.",
                self.corner.to_lowercase()
            ),
            drawing: Drawing::Bars(groups.collect()),
        })
    }

    /// What was measured of the same.
    fn ours(result: &ResultFile) -> Option<&Table> {
        let mut tables = result.tables.iter();
        tables.find(|table| table.id == "beside-published")
    }

    /// Each measured row beside its published one, which the first of several has.
    fn beside(&self, whose: Whose<'_>) -> Option<Table> {
        let ours = Self::ours(whose.result)?;
        let group = |name: &str, heading: &str| Column {
            group: name.to_owned(),
            heading: heading.to_owned(),
        };
        let published = self
            .columns
            .iter()
            .map(|heading| group("Published", heading));
        let measured = ours
            .columns
            .iter()
            .map(|column| group(whose.name, &column.heading));
        let columns = published.chain(measured).collect();
        let title = format!("{}: {}", whose.name, ours.title);
        let mut table = Table::new("beside-published", title, columns);
        table.corner.clone_from(&self.corner);
        let mut seen = Vec::new();
        for row in &ours.rows {
            let published = self.row.iter().find(|published| published.ours == row.key);
            let first = !seen.contains(&&row.key);
            seen.push(&row.key);
            let values = published.filter(|_| first).map(|row| row.values.clone());
            let mut cells = values.unwrap_or_default();
            cells.resize(self.columns.len(), Cell::Empty);
            cells.extend(row.cells.iter().cloned());
            table.row(&row.heading, cells);
        }
        Some(table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use workshop_results::file::Verdict;
    use workshop_results::key::{
        At, CPU, CPU_PER_REQUEST, CPU_PER_REQUEST_SATURATED, Key, P99, PSS_AT_LOAD, START_UP,
        THROUGHPUT, THROUGHPUT_ALTERNATING, UNSTEADY, WARM_UP,
    };

    fn checkout() -> Workspace {
        Workspace::at(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
    }

    fn committed(of: &str) -> ResultFile {
        ResultFile::read(&ResultFile::reference_path(&checkout(), of)).unwrap()
    }

    #[test]
    fn the_story_quotes_what_was_predicted_and_what_was_measured() {
        let judged = |measured: f64, held| JudgedPrediction {
            key: START_UP,
            predicted: 0.25,
            confidence: 70.0,
            measured,
            factor: 0.25 / measured,
            held,
        };
        let quoted = told(&judged(0.2, true), "exercise-8");
        for words in [
            "The start, Rust divided by Kotlin",
            "0.25",
            "70 % sure",
            "in exercise-8. You knew",
        ] {
            assert!(quoted.contains(words), "{quoted}");
        }
        assert!(told(&judged(0.02, false), "exercise-3").contains("believe then"));
    }

    #[test]
    fn every_published_row_has_a_measured_one_beside_it() {
        for (file, of) in [
            ("published-article", "exercise-8"),
            ("published-ladder", "exercise-20"),
        ] {
            let published = Published::read(&checkout(), file).unwrap();
            let result = committed(of);
            let ours = result
                .tables
                .iter()
                .find(|table| table.id == "beside-published");
            let keys: Vec<&str> = ours
                .unwrap()
                .rows
                .iter()
                .map(|row| row.key.as_str())
                .collect();
            for row in &published.row {
                assert!(
                    keys.contains(&row.ours.as_str()),
                    "{file}: {}: {keys:?}",
                    row.heading
                );
                assert_eq!(row.values.len(), published.columns.len(), "{}", row.heading);
            }
            let name = REFERENCE;
            let beside = published
                .beside(Whose {
                    name,
                    result: &result,
                })
                .unwrap();
            assert_eq!(beside.rows.len(), keys.len());
            assert_eq!(beside.rows[0].cells[0], published.row[0].values[0]);
        }
    }

    #[test]
    fn the_ladder_is_a_picture_and_the_article_is_none() {
        let chart = |file: &str, of: &str| {
            let (name, result) = (REFERENCE, &committed(of));
            let published = Published::read(&checkout(), file).unwrap();
            published.chart(Whose { name, result })
        };
        assert_eq!(chart("published-article", "exercise-8"), None);
        let ladder = chart("published-ladder", "exercise-20").unwrap();
        let Drawing::Bars(steps) = ladder.drawing else {
            panic!("{ladder:?}");
        };
        assert_eq!(steps.len(), 5);
        assert!(steps.iter().all(|step| step.bars.len() == 2), "{steps:?}");
        assert_eq!(steps[1].bars[0].value, 1.76);
        assert_eq!(steps[1].bars[1].mark, "slower");
    }

    #[test]
    fn published_ratios_follow_from_the_published_values() {
        let article = Published::read(&checkout(), "published-article").unwrap();
        let value = |cell: &Cell| match cell {
            Cell::Number(value) => *value,
            Cell::Count(count) => *count as f64,
            other => panic!("{other:?}"),
        };
        for row in &article.row {
            let percent = value(&row.values[1]) / value(&row.values[0]) * 100.0;
            assert_eq!(
                row.values[2],
                Cell::text(format!("{percent:.0} %")),
                "{}",
                row.heading
            );
        }
        let ladder = Published::read(&checkout(), "published-ladder").unwrap();
        for row in &ladder.row {
            let ratio = value(&row.values[0]) / value(&ladder.row[0].values[0]);
            assert!(
                (value(&row.values[1]) - ratio).abs() < 0.01,
                "{}",
                row.heading
            );
        }
    }

    #[test]
    fn a_table_that_is_not_there_is_a_fault_of_the_page() {
        let ids = ["nonsense".to_owned()];
        let problem = render(&checkout(), "exercise-8", &ids).unwrap_err();
        assert!(
            problem
                .to_string()
                .contains("no table or chart named nonsense"),
            "{problem:?}"
        );
        let html = render(&checkout(), "exercise-8", &["goals".to_owned()]).unwrap();
        assert!(
            html.contains("not reached") && !html.contains("Saturated"),
            "{html}"
        );
        assert!(
            !html.trim().contains("\n\n"),
            "an empty line would end the HTML block"
        );
    }

    /// Three sections of the page about the ladder are prose about values: who commits others has to read them again.
    #[test]
    fn the_ladders_page_says_what_the_committed_values_show() {
        let result = committed("exercise-20");
        let of = |key: &Key, side: &str| {
            let metric = result.metric(key).unwrap();
            metric.comparison(side, "kotlin").unwrap().clone()
        };
        let ratio = |key: &Key, side: &str| of(key, side).ratio.unwrap();
        let verdict = |key: &Key, side: &str| of(key, side).verdict;
        let (short, long) = (&THROUGHPUT, &THROUGHPUT.at(At::Bytes(512)));
        let [process, module, library, service] =
            ["solution-17", "solution-18", "solution-19", "solution-20"];
        assert!(
            (0.08..0.12).contains(&ratio(short, process)),
            "about a tenth"
        );
        assert!(
            (0.28..0.38).contains(&ratio(short, module)),
            "about a third"
        );
        assert!(ratio(long, process) > 1.5 * ratio(short, process));
        assert!(ratio(long, module) < 1.5 * ratio(short, module));
        assert_eq!(verdict(long, module), Verdict::Slower);
        assert_eq!(verdict(short, library), Verdict::Faster);
        assert_eq!(verdict(short, service), Verdict::Faster);
        assert!(ratio(long, library) > 3.0, "more than three times");
        for tier in [library, service] {
            assert!((1.7..2.3).contains(&ratio(short, tier)), "twice: {tier}");
        }
        let slower = "solution-20-slower-libraries";
        for key in [short, long] {
            assert!(ratio(key, slower) < 2.0, "less than twice: {key}");
        }
        assert!((3.6..4.4).contains(&ratio(long, service)), "four times");
        let cpu = &CPU_PER_REQUEST;
        for tier in [library, service] {
            assert!(
                (0.5..0.6).contains(&ratio(cpu, tier)),
                "little more than half: {tier}"
            );
            assert_eq!(verdict(cpu, tier), Verdict::Less, "{tier}");
            assert_eq!(verdict(long, tier), Verdict::Faster, "{tier}");
        }
        for key in [short, long] {
            let beside_the_library = ratio(key, service) / ratio(key, library);
            assert!((0.75..1.33).contains(&beside_the_library), "{key}");
        }
        assert!(ratio(&START_UP, service) < 0.05, "milliseconds");
        assert!(ratio(&PSS_AT_LOAD, service) < 0.1, "a few percent");
    }

    /// What exercise 23 says below its tables is prose about values, too.
    #[test]
    fn the_page_about_energy_says_what_the_committed_values_show() {
        let result = committed("exercise-23");
        let against = |key: &Key, side: &str| {
            let metric = result.metric(key).unwrap();
            metric.comparison("solution-11", side).unwrap().clone()
        };
        let (at_rate, saturated) = (
            CPU.at(At::Load("at_rate", "")),
            CPU.at(At::Load("saturated", "")),
        );
        let tuned = "kotlin-jdbc-tuned";
        for key in [&at_rate, &saturated] {
            for side in ["kotlin", tuned] {
                assert_eq!(against(key, side).verdict, Verdict::Less, "{key}, {side}");
            }
        }
        let ratio = |key| against(key, tuned).ratio.unwrap();
        assert!((0.45..0.6).contains(&ratio(&at_rate)), "about half");
        assert!((0.8..0.86).contains(&ratio(&saturated)), "a sixth");
        let throughput = against(&THROUGHPUT, tuned).verdict;
        assert_eq!(throughput, Verdict::NoDifferenceShown);
        let servers = result.tables.iter().find(|table| table.id == "servers");
        let rounded_up: Vec<&Cell> = servers.unwrap().rows[1..]
            .iter()
            .map(|row| row.cell(1))
            .collect();
        assert_eq!(rounded_up[0], rounded_up[1], "as many servers");
    }

    /// How often each claim of a calibration held, and of how many.
    fn held(calibration: &str) -> Vec<[u64; 2]> {
        let result = committed(calibration);
        let held = result.tables.iter().find(|table| table.id == "held");
        let rows = held.unwrap().rows.iter();
        let counts = rows.map(|row| match row.cells[..] {
            [Cell::Count(held), Cell::Count(of)] => [held, of],
            _ => panic!("{row:?}"),
        });
        counts.collect()
    }

    /// How sure the intervals are is prose about counts.
    #[test]
    fn the_page_about_measuring_says_what_the_committed_calibrations_show() {
        let sum = |counts: &[[u64; 2]]| {
            let sum = |column: usize| counts.iter().map(|count| count[column]).sum::<u64>();
            (sum(0), sum(1))
        };
        let duets = held("calibration");
        let (cpu, throughput) = duets.split_at(4);
        assert_eq!((sum(cpu), sum(throughput)), ((75, 80), (79, 80)));
        let least = duets.iter().map(|[held, _]| *held).min();
        assert_eq!(least, Some(18), "at least 18 times in twenty");

        let rounds = held("calibration-rounds");
        assert_eq!(sum(&rounds), (191, 200), "191 of 200");
        let least = rounds.iter().map(|[held, _]| *held).min();
        assert_eq!(least, Some(17), "none fewer than 17 times in twenty");
        let result = committed("calibration-rounds");
        let typical_width = |key: &Key| {
            let pairs = &result.metric(key).unwrap().comparisons;
            let ends = pairs.iter().map(|pair| pair.high.zip(pair.low).unwrap());
            let widths: Vec<f64> = ends.map(|(high, low)| (high / low).sqrt() - 1.0).collect();
            workshop_results::statistics::median(&widths).unwrap()
        };
        assert!((0.4..0.6).contains(&typical_width(&P99)), "about half");
        let throughput = typical_width(&THROUGHPUT);
        assert!((0.1..0.2).contains(&throughput), "a tenth or two");
        assert!(typical_width(&MEMORY) < 0.05, "a few percent");
    }

    /// What Dana wrote down about the port is prose about values.
    #[test]
    fn danas_page_about_the_port_says_what_the_committed_values_show() {
        let result = committed("exercise-8");
        let against = |key: &Key, side: &str| {
            let metric = result.metric(key).unwrap();
            metric.comparison("solution-8", side).unwrap().clone()
        };
        let (with_exposed, raw_jdbc) = (
            ["kotlin", "kotlin-right-sized", "kotlin-start-up"],
            "kotlin-jdbc",
        );
        let throughput = |side| against(&THROUGHPUT, side).verdict;
        assert_eq!(throughput("kotlin"), Verdict::NoDifferenceShown);
        assert_eq!(throughput(raw_jdbc), Verdict::Slower);
        for side in with_exposed {
            let p99 = against(&P99, side);
            assert_eq!(p99.verdict, Verdict::Faster, "{side}");
            assert!(p99.ratio.unwrap() < 0.5, "less than half: {side}");
            let cpu = against(&CPU_PER_REQUEST, side);
            assert_eq!(cpu.verdict, Verdict::Less, "{side}");
            let ratio = cpu.ratio.unwrap();
            assert!((0.5..0.6).contains(&ratio), "little more than half: {side}");
        }
        assert_eq!(against(&P99, raw_jdbc).verdict, Verdict::NoDifferenceShown);
        let cpu = against(&CPU_PER_REQUEST, raw_jdbc).ratio.unwrap();
        assert!((0.7..0.8).contains(&cpu), "three quarters");
    }

    /// Comparing with a JVM that's still warming up is unfair. A result in which Kotlin was doing so in most blocks has to be measured
    /// again.
    #[test]
    fn kotlin_was_warm_in_the_committed_results() {
        let mut still_warming_up = Vec::new();
        for exercise in (1..=24).map(|number| format!("exercise-{number}")) {
            // Some exercises measure nothing.
            if !ResultFile::reference_path(&checkout(), &exercise).exists() {
                continue;
            }
            let result = committed(&exercise);
            let jvms = result.sides.iter().filter(|side| !side.peer);
            for jvm in jvms.filter(|side| side.language.compiles_under_load()) {
                let count = |key| {
                    let blocks = result.blocks.iter();
                    let of_jvm = blocks.filter(|block| block.side == jvm.id);
                    of_jvm
                        .filter(|block| block.values.contains_key(key))
                        .count()
                };
                if count(&UNSTEADY) > count(&WARM_UP) {
                    still_warming_up.push(format!("{exercise}: {}", jvm.id));
                }
            }
        }
        let told_on_the_page = [
            "exercise-11: kotlin",
            "exercise-11: kotlin-right-sized",
            "exercise-11: kotlin-jdbc",
            "exercise-16: kotlin",
        ];
        assert_eq!(still_warming_up, told_on_the_page);
    }

    /// How many intervals a result has is a count on the page about measuring.
    #[test]
    fn a_result_with_many_rows_has_more_than_two_hundred_intervals() {
        let metrics = committed("exercise-8").metrics;
        let comparisons = metrics.iter().flat_map(|metric| &metric.comparisons);
        let intervals = comparisons.filter(|one| one.low.is_some()).count();
        assert!((201..250).contains(&intervals), "{intervals}");
    }

    /// The last sections of the page about the ceiling are prose about values, too, and so is a paragraph of Dana's.
    #[test]
    fn the_ceilings_page_says_what_the_committed_values_show() {
        let result = committed("exercise-11");
        let port = "solution-11";
        let best = |key: &Key, sides: [&str; 2]| {
            let metric = result.metric(key).unwrap();
            let values = sides.iter().filter_map(|side| metric.value(side));
            metric.best(values).unwrap().side.clone()
        };
        let raw_jdbc = ["kotlin-jdbc", "kotlin-jdbc-tuned"];
        let against_the_best = |key: &Key| {
            let metric = result.metric(key).unwrap();
            let comparison = metric.comparison(port, &best(key, raw_jdbc));
            comparison.unwrap().clone()
        };
        let cpu = against_the_best(&CPU_PER_REQUEST).ratio.unwrap();
        assert!((0.5..0.55).contains(&cpu), "a little more than half");
        let throughput = against_the_best(&THROUGHPUT);
        assert_eq!(throughput.verdict, Verdict::NoDifferenceShown);
        let alternating = against_the_best(&THROUGHPUT_ALTERNATING).low.unwrap();
        assert!(alternating > 1.0, "ahead of Kotlin's best row");
        let goals = result.tables.iter().find(|table| table.id == "goals");
        let rows = &goals.unwrap().rows;
        let with = |verdict: &str| {
            let cells = rows.iter().flat_map(|row| &row.cells);
            cells.filter(|cell| **cell == Cell::text(verdict)).count()
        };
        assert_eq!((with("not reached"), with("undecided")), (3, 1));
        let ratio = |key: &Key, side: &str, against: &str| {
            let metric = result.metric(key).unwrap();
            metric.comparison(side, against).unwrap().ratio.unwrap()
        };
        let ratios = [
            (ratio(&MEMORY, port, "kotlin-right-sized"), 1.0 / 20.0),
            (ratio(&CPU_PER_REQUEST, port, "ceiling"), 4.0 / 3.0),
            (ratio(&THROUGHPUT_ALTERNATING, port, "ceiling"), 3.0 / 4.0),
            (
                ratio(&THROUGHPUT_ALTERNATING, "every-knob", "ceiling"),
                4.0 / 5.0,
            ),
            (ratio(&CPU_PER_REQUEST, "every-knob", port), 19.0 / 20.0),
            (ratio(&CPU_PER_REQUEST, "vertx", port), 3.0 / 4.0),
            (ratio(&THROUGHPUT_ALTERNATING, "vertx", port), 6.0 / 5.0),
        ];
        for (measured, said) in ratios {
            assert!(
                (0.95..1.05).contains(&(measured / said)),
                "{measured}, not {said}"
            );
        }

        let under_full_load = |side: &str| {
            let blocks = result.blocks.iter().filter(|block| block.side == side);
            let values = blocks.filter_map(|block| block.values.get(&CPU_PER_REQUEST_SATURATED));
            let values: Vec<f64> = values.copied().collect();
            workshop_results::statistics::median(&values).unwrap()
        };
        let at_a_fixed_rate = result.metric(&CPU_PER_REQUEST).unwrap();
        let mut shares: Vec<(f64, &str)> = at_a_fixed_rate
            .values
            .iter()
            .map(|fixed| {
                (
                    under_full_load(&fixed.side) / fixed.value,
                    fixed.side.as_str(),
                )
            })
            .collect();
        shares.sort_by(|one, other| one.0.total_cmp(&other.0));
        assert!(shares.iter().all(|(share, _)| *share < 1.0), "{shares:?}");
        for (_, gains_the_most) in &shares[..2] {
            assert!(raw_jdbc.contains(gains_the_most), "{shares:?}");
        }
    }
}
