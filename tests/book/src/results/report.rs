//! The report: every measurement of the reader on one page, with the reference's figures where there are none, and the
//! predictions of exercise 1 scored. It is Markdown, for `results/report.md` and for the book's page alike.
//!
//! It knows metrics, sides and comparisons, and no exercise: a new kind of measurement appears in it by itself.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::results::numbers::value;
use crate::results::provenance;
use crate::results::unreadable;
use workshop_base::exercise::Catalogue;
use workshop_base::files;
use workshop_base::workspace::Workspace;
use workshop_results::file::CalibrationFile;
use workshop_results::file::Comparison;
use workshop_results::file::JudgedPrediction;
use workshop_results::file::Metric;
use workshop_results::file::ResultFile;
use workshop_results::file::SideValue;
use workshop_results::file::Task;
use workshop_results::file::Verdict;
use workshop_results::findings::findings;
use workshop_results::predictions;
use workshop_results::predictions::FACTOR;

/// What to type when there is nothing to report yet.
pub const FIRST: &str = "just measure exercise-1";

/// The name of the calibration's files, which are of another form.
const CALIBRATION: &str = "calibration";

/// All that is known, before it is written down.
#[derive(Debug)]
pub struct Report {
    parts: Vec<Part>,
    calibration: Option<(Whose, CalibrationFile)>,
    /// Files of the reader that cannot be shown: the reason, and the command that makes a new one.
    unreadable: Vec<(String, String)>,
    predictions: Predictions,
}

/// The measurements of one exercise.
#[derive(Debug)]
struct Part {
    heading: String,
    measurements: Vec<Measurement>,
}

#[derive(Debug)]
struct Measurement {
    whose: Whose,
    result: ResultFile,
}

/// Whose code was measured, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Whose {
    /// The reader's own, or the Kotlin service on the reader's machine.
    Yours,
    /// The reference's code on the reader's machine.
    ReferenceHere,
    /// The committed figures.
    Reference,
}

impl Whose {
    fn words(self) -> &'static str {
        match self {
            Whose::Yours => "Yours",
            Whose::ReferenceHere => "Yours (the reference's code on your machine)",
            Whose::Reference => "The reference's figures, since you have none yet",
        }
    }
}

/// What became of the predictions.
#[derive(Debug, Default)]
struct Predictions {
    /// How many are filled in.
    made: usize,
    judged: Vec<Judged>,
}

#[derive(Debug)]
struct Judged {
    prediction: JudgedPrediction,
    /// The metric's name.
    name: String,
    exercise: String,
    by_the_reference: bool,
}

/// Gathers what there is; none when the reader has measured nothing yet.
///
/// # Errors
/// When the folders, the catalogue or the predictions cannot be read, or a committed file is broken.
pub fn gather(workspace: &Workspace) -> anyhow::Result<Option<Report>> {
    let own_files = result_files(&workspace.results())?;
    if own_files.is_empty() {
        return Ok(None);
    }
    let catalogue = Catalogue::read(workspace)?;
    let mut measurements = Vec::new();
    let mut calibration = None;
    let mut faults = Vec::new();
    for path in &own_files {
        let read = if is_calibration(path) {
            CalibrationFile::read(path).map(|file| calibration = Some((Whose::Yours, file)))
        } else {
            ResultFile::read(path).map(|result| {
                let whose = if result.target.starts_with("solution") {
                    Whose::ReferenceHere
                } else {
                    Whose::Yours
                };
                measurements.push(Measurement { whose, result });
            })
        };
        if let Err(error) = read {
            faults.push((unreadable(workspace, path, &error), again(path)));
        }
    }
    let mut references = Vec::new();
    for path in result_files(&workspace.reference_results())? {
        if !is_calibration(&path) {
            references.push(ResultFile::read(&path)?);
        } else if calibration.is_none() {
            calibration = Some((Whose::Reference, CalibrationFile::read(&path)?));
        }
    }
    let predictions = predictions_of(workspace, &measurements, &references)?;
    for result in references {
        let is_own = |own: &Measurement| {
            own.result.exercise == result.exercise && own.result.task == result.task
        };
        if !measurements.iter().any(is_own) {
            measurements.push(Measurement {
                whose: Whose::Reference,
                result,
            });
        }
    }
    // The reader's own come first, then the reference's code here, in each exercise.
    measurements.sort_by_key(|measurement| {
        let number = number_of(&measurement.result.exercise);
        (number, measurement.whose as u8)
    });
    Ok(Some(Report {
        parts: parts(&catalogue, measurements),
        calibration,
        unreadable: faults,
        predictions,
    }))
}

/// The JSON files in a folder, by name; none when there is no such folder. What lies in folders below is not looked at: it
/// may be somebody else's.
fn result_files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let tree = files::read_tree(folder).context("the results cannot be listed")?;
    let is_result = |path: &PathBuf| {
        path.parent() == Some(Path::new(""))
            && path
                .extension()
                .is_some_and(|extension| extension == "json")
    };
    Ok(tree
        .into_keys()
        .filter(is_result)
        .map(|path| folder.join(path))
        .collect())
}

fn is_calibration(path: &Path) -> bool {
    path.file_stem().is_some_and(|stem| stem == CALIBRATION)
}

/// The command that writes this file anew.
fn again(path: &Path) -> String {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    if is_calibration(path) {
        "just calibrate".to_owned()
    } else {
        format!("just measure {name}")
    }
}

/// The number in `exercise-3`; what has none comes last.
fn number_of(exercise: &str) -> u8 {
    exercise
        .strip_prefix("exercise-")
        .and_then(|number| number.parse().ok())
        .unwrap_or(u8::MAX)
}

fn parts(catalogue: &Catalogue, measurements: Vec<Measurement>) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for measurement in measurements {
        let exercise = &measurement.result.exercise;
        let heading = catalogue.get(number_of(exercise)).map_or_else(
            |_| exercise.clone(),
            |known| format!("Exercise {}: {}", known.number, known.title),
        );
        match parts.last_mut().filter(|part| part.heading == heading) {
            Some(part) => part.measurements.push(measurement),
            None => parts.push(Part {
                heading,
                measurements: vec![measurement],
            }),
        }
    }
    parts
}

/// Each prediction is judged once: by the reader's own figures, else by the reference's; by the random reads, which are what
/// was predicted, else by the first measurement that has the metric.
fn predictions_of(
    workspace: &Workspace,
    own: &[Measurement],
    references: &[ResultFile],
) -> anyhow::Result<Predictions> {
    let path = predictions::path(workspace)?;
    if !path.is_file() {
        return Ok(Predictions::default());
    }
    let made = predictions::read(&path)?;
    let mut candidates: Vec<(bool, &ResultFile)> = own
        .iter()
        .map(|measurement| (false, &measurement.result))
        .chain(references.iter().map(|reference| (true, reference)))
        .collect();
    candidates.sort_by_key(|(by_the_reference, result)| {
        (
            *by_the_reference,
            result.task != Task::Reads,
            number_of(&result.exercise),
        )
    });
    let mut judged: Vec<Judged> = Vec::new();
    for (by_the_reference, result) in candidates {
        // The reader's were judged when they were measured, and a prediction that was mended since does not count.
        let judgements = if by_the_reference {
            predictions::judged_by(&made, result)
        } else {
            result.predictions.clone()
        };
        for prediction in judgements {
            if judged
                .iter()
                .any(|there| there.prediction.key == prediction.key)
            {
                continue;
            }
            let metric = result.metric(&prediction.key);
            judged.push(Judged {
                name: metric.map_or_else(|| prediction.key.clone(), |metric| metric.name.clone()),
                prediction,
                exercise: result.exercise.clone(),
                by_the_reference,
            });
        }
    }
    judged.sort_by_key(|judged| {
        predictions::KEYS
            .iter()
            .position(|key| *key == judged.prediction.key)
    });
    Ok(Predictions {
        made: made.len(),
        judged,
    })
}

impl Report {
    /// How many measurements are in it, and how many of them are from the reader's machine.
    pub fn counts(&self) -> (usize, usize) {
        let all = self.parts.iter().flat_map(|part| &part.measurements);
        let own = all
            .clone()
            .filter(|measurement| measurement.whose != Whose::Reference);
        (all.count(), own.count())
    }

    /// The score of the predictions, or why there is none, in a sentence or two.
    pub fn score(&self) -> String {
        let judged = &self.predictions.judged;
        if self.predictions.made == 0 && judged.is_empty() {
            return "You have written down no prediction. `just check exercise-1` says how."
                .to_owned();
        }
        if judged.is_empty() {
            return "None of your predictions is judged yet: `just measure exercise-3` does it; a quick run does not."
                .to_owned();
        }
        let held = judged
            .iter()
            .filter(|judged| judged.prediction.held)
            .count();
        let expected: f64 = judged
            .iter()
            .map(|judged| judged.prediction.confidence / 100.0)
            .sum();
        let mut score = format!(
            "{held} of {} held within a factor of {FACTOR}; by your confidence you expected {expected:.1}.",
            judged.len()
        );
        let by_the_reference = judged
            .iter()
            .filter(|judged| judged.by_the_reference)
            .count();
        if by_the_reference > 0 {
            let _ = write!(
                score,
                " {by_the_reference} of them {} judged by the reference's figures, since none of yours did it.",
                if by_the_reference == 1 { "is" } else { "are" }
            );
        }
        score
    }

    /// The report in Markdown, with headings of the second level.
    pub fn markdown(&self) -> String {
        let mut text = String::from("## Your predictions\n\n");
        let _ = writeln!(text, "{}\n", self.score());
        text.push_str(&predictions_table(&self.predictions.judged));
        for part in &self.parts {
            let _ = writeln!(text, "## {}\n", plain(&part.heading));
            for measurement in &part.measurements {
                text.push_str(&measured(measurement.whose, &measurement.result));
            }
        }
        if let Some((whose, calibration)) = &self.calibration {
            text.push_str("## The measuring, held against itself\n\n");
            let _ = writeln!(text, "{}\n", about(*whose, &calibration.result));
            for claim in &calibration.claims {
                let holds = if claim.holds {
                    "holds"
                } else {
                    "does not hold"
                };
                let _ = writeln!(
                    text,
                    "- {} ({}): {holds}",
                    plain(&claim.claim),
                    ratio(&claim.decides)
                );
            }
            text.push('\n');
        }
        if !self.unreadable.is_empty() {
            text.push_str("## Files that cannot be shown\n\n");
            for (fault, again) in &self.unreadable {
                let _ = writeln!(text, "- {} Measure it again: `{again}`.", plain(fault));
            }
            text.push('\n');
        }
        text
    }
}

fn predictions_table(judged: &[Judged]) -> String {
    let rows = judged.iter().map(|judged| {
        let prediction = &judged.prediction;
        vec![
            plain(&judged.name),
            value(prediction.predicted),
            format!("{} %", value(prediction.confidence)),
            value(prediction.measured),
            value(prediction.factor),
            if prediction.held {
                "held"
            } else {
                "did not hold"
            }
            .to_owned(),
            format!(
                "{}{}",
                plain(&judged.exercise),
                if judged.by_the_reference {
                    ", the reference"
                } else {
                    ""
                }
            ),
        ]
    });
    table(
        &[
            ("Rust ÷ Kotlin", Align::Left),
            ("You said", Align::Right),
            ("You were sure", Align::Right),
            ("Measured", Align::Right),
            ("Off by a factor of", Align::Right),
            ("Verdict", Align::Left),
            ("Measured in", Align::Left),
        ],
        rows,
    )
}

/// One measurement: whose it is and what it was taken on, why it may not be believed, and its headline.
fn measured(whose: Whose, result: &ResultFile) -> String {
    let mut text = format!("{}\n\n", about(whose, result));
    for reason in &result.invalid {
        let _ = writeln!(text, "**Invalid:** {}\n", plain(reason));
    }
    let headline: Vec<&Metric> = result
        .metrics
        .iter()
        .filter(|metric| metric.headline)
        .collect();
    let metrics: Vec<&Metric> = if headline.is_empty() {
        result.metrics.iter().collect()
    } else {
        headline
    };
    let mut columns = vec![
        ("Metric", Align::Left),
        ("Measured", Align::Left),
        ("Against", Align::Left),
        ("Ratio (95 % interval)", Align::Right),
        ("Verdict", Align::Left),
    ];
    if metrics.iter().all(|metric| metric.comparisons.is_empty()) {
        columns.truncate(2);
    }
    let rows = metrics.iter().flat_map(|metric| rows(result, metric));
    text.push_str(&table(&columns, rows));
    text.push_str(&list(&reasons(result, &metrics)));
    text.push_str(&list(&findings(result)));
    if !result.notes.is_empty() {
        let _ = write!(
            text,
            "<details>\n<summary>To read this rightly</summary>\n\n{}</details>\n\n",
            list(&result.notes)
        );
    }
    text
}

fn list(items: &[String]) -> String {
    if items.is_empty() {
        return String::new();
    }
    let lines: String = items
        .iter()
        .map(|item| format!("- {}\n", plain(item)))
        .collect();
    format!("{lines}\n")
}

fn about(whose: Whose, result: &ResultFile) -> String {
    format!("**{}:** {}.", whose.words(), plain(&provenance(result)))
}

/// A row for each comparison; for each side where nothing is compared.
fn rows(result: &ResultFile, metric: &Metric) -> Vec<Vec<String>> {
    let name = if metric.unit.is_empty() || metric.unit.eq_ignore_ascii_case(&metric.name) {
        plain(&metric.name)
    } else {
        plain(&format!("{} ({})", metric.name, metric.unit))
    };
    let of = |id: &str| {
        let figure = metric
            .value(id)
            .map_or_else(|| "–".to_owned(), |side| value(side.value));
        format!("{}: {figure}", plain(result.label(id)))
    };
    if metric.comparisons.is_empty() {
        let alone = |side: &SideValue| {
            vec![
                name.clone(),
                of(&side.side),
                "–".to_owned(),
                "–".to_owned(),
                "–".to_owned(),
            ]
        };
        return metric.values.iter().map(alone).collect();
    }
    let compared = |comparison: &Comparison| {
        // Nothing is claimed from a measurement that may not be believed.
        let (ratio, verdict) = if result.invalid.is_empty() {
            (ratio(comparison), comparison.verdict)
        } else {
            ("–".to_owned(), Verdict::Invalid)
        };
        vec![
            name.clone(),
            of(&comparison.side),
            of(&comparison.against),
            ratio,
            verdict.words(&metric.key).to_owned(),
        ]
    };
    metric.comparisons.iter().map(compared).collect()
}

/// Why comparisons of these metrics are invalid. A column of the table has no room for it.
fn reasons(result: &ResultFile, metrics: &[&Metric]) -> Vec<String> {
    let mut reasons = Vec::new();
    for metric in metrics {
        for comparison in &metric.comparisons {
            if let Some(reason) = &comparison.reason {
                reasons.push(format!(
                    "{}, {} against {}: invalid: {reason}",
                    metric.name,
                    result.label(&comparison.side),
                    result.label(&comparison.against),
                ));
            }
        }
    }
    reasons
}

/// `0.29 (0.27 to 0.31)`.
fn ratio(comparison: &Comparison) -> String {
    match (comparison.ratio, comparison.low, comparison.high) {
        (Some(ratio), Some(low), Some(high)) => {
            format!("{} ({} to {})", value(ratio), value(low), value(high))
        }
        (Some(ratio), ..) => value(ratio),
        _ => "–".to_owned(),
    }
}

#[derive(Debug, Clone, Copy)]
enum Align {
    Left,
    Right,
}

/// A Markdown table; nothing when it has no rows. Cells beyond the columns are left out.
fn table(columns: &[(&str, Align)], rows: impl Iterator<Item = Vec<String>>) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells[..columns.len()].join(" | "));
    let body: String = rows.map(|row| line(&row)).collect();
    if body.is_empty() {
        return String::new();
    }
    let names: Vec<String> = columns.iter().map(|(name, _)| (*name).to_owned()).collect();
    let rule: Vec<String> = columns
        .iter()
        .map(|(_, align)| match align {
            Align::Left => "---".to_owned(),
            Align::Right => "---:".to_owned(),
        })
        .collect();
    format!("{}{}{body}\n", line(&names), line(&rule))
}

/// The text with everything escaped that Markdown reads as markup, on one line.
fn plain(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' => escaped.push(' '),
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '&' | '{' | '#' | '~' => {
                escaped.push('\\');
                escaped.push(character);
            }
            other => escaped.push(other),
        }
    }
    escaped
}
