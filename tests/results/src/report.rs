//! The report: every measurement of the reader in one place, with the predictions of exercise 1 scored. It knows metrics,
//! tables and charts, and no exercise: a new kind of measurement appears in it by itself.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::file::{CALIBRATION, JudgedPrediction, ResultFile, TURNS, again};
use crate::guide;
use crate::predictions::{self, FACTOR};
use crate::view::{self, Item, REFERENCE, Whose, YOURS};
use crate::write::html;
use workshop_base::exercise::{Catalogue, PREDICTED};
use workshop_base::files;
use workshop_base::outcome::Trouble;
use workshop_base::workspace::Workspace;

/// What to type when there is nothing to report yet.
pub const FIRST: &str = "just measure exercise-1";

/// All that is known.
#[derive(Debug)]
pub struct ResultsReport {
    /// The sections: a heading, and what is below it.
    pub sections: Vec<(String, Vec<Item>)>,
    /// How the predictions did, in a sentence or two.
    pub score: String,
    /// How many measurements are in it.
    pub all: usize,
    /// How many of them are from the reader's machine.
    pub own: usize,
}

impl ResultsReport {
    /// As a page by itself; `style` is the book's.
    pub fn page(&self, style: &str) -> String {
        html::page("Your results", style, &self.sections)
    }
}

/// Gathers what there is; none when the reader has measured nothing yet.
pub fn gather(workspace: &Workspace) -> anyhow::Result<Option<ResultsReport>> {
    let own_files = result_files(&workspace.results())?;
    if own_files.is_empty() {
        return Ok(None);
    }
    let (own, faults) = read_own(workspace, &own_files);
    let mut references = read_references(workspace)?;
    references.retain(|reference| !own.iter().any(|own| same(own, reference)));

    let made = predictions_made(workspace)?;
    let judged = judged(&own);
    let score = score(made, &judged);
    let mut scored = vec![Item::Text(String::new(), score.clone())];
    scored.extend(view::predictions(judged).map(Item::Table));
    let mut sections = vec![
        ("Your predictions".to_owned(), scored),
        (
            "What your figures speak for".to_owned(),
            guide::items(&own)?,
        ),
    ];

    let (all, count) = (own.len() + references.len(), own.len());
    let mut measured: Vec<(bool, ResultFile)> =
        own.into_iter().map(|result| (true, result)).collect();
    measured.extend(references.into_iter().map(|result| (false, result)));
    measured.sort_by_key(|(_, result)| (place(result), result.target.starts_with("solution")));
    let catalogue = Catalogue::read(workspace)?;
    for (is_own, result) in &measured {
        let heading = heading(&catalogue, result);
        let items = measurement(*is_own, result);
        match sections.last_mut().filter(|(last, _)| *last == heading) {
            Some((_, there)) => there.extend(items),
            None => sections.push((heading, items)),
        }
    }
    if !faults.is_empty() {
        let cannot = "Files that cannot be shown".to_owned();
        sections.push((cannot.clone(), vec![Item::List(cannot, faults)]));
    }
    Ok(Some(ResultsReport {
        sections,
        score,
        all,
        own: count,
    }))
}

/// The decision guide with the reader's figures, and below a fold with the committed ones.
pub fn guide(workspace: &Workspace) -> anyhow::Result<Vec<Item>> {
    let (own, _) = read_own(workspace, &result_files(&workspace.results())?);
    let mut items = guide::items(&own)?;
    let committed = guide::items(&read_references(workspace)?)?;
    items.push(Item::Folded(
        "What the reference's figures speak for, on another machine".to_owned(),
        committed,
    ));
    Ok(items)
}

/// The reader's measurements, and which of their files cannot be used.
fn read_own(workspace: &Workspace, files: &[PathBuf]) -> (Vec<ResultFile>, Vec<String>) {
    let mut own = Vec::new();
    let mut faults = Vec::new();
    for path in files {
        match ResultFile::read(path) {
            Ok(result) => own.push(result),
            Err(error) => faults.push(format!(
                "{} Measure it again: `{}`.",
                unreadable(workspace, path, &error),
                again(path)
            )),
        }
    }
    (own, faults)
}

/// The committed measurements.
pub(crate) fn read_references(workspace: &Workspace) -> anyhow::Result<Vec<ResultFile>> {
    let files = result_files(&workspace.reference_results())?;
    files.iter().map(|path| ResultFile::read(path)).collect()
}

/// One measurement. The reference's waits behind a fold: who has not measured yet may want to see it after that.
fn measurement(is_own: bool, result: &ResultFile) -> Vec<Item> {
    let name = if is_own { YOURS } else { REFERENCE };
    let mut items = view::about(Whose { name, result });
    let whose = Whose { name: "", result };
    items.extend(view::ratios(&[whose]).map(Item::Chart));
    items.extend(view::headline(&[whose]));
    items.extend(view::attached(whose));
    items.push(view::data(whose));
    if is_own {
        return items;
    }
    vec![Item::Folded(
        "The reference's values: you have none of your own yet".to_owned(),
        items,
    )]
}

/// True when the one takes the place of the other.
fn same(own: &ResultFile, reference: &ResultFile) -> bool {
    (&own.exercise, &own.task) == (&reference.exercise, &reference.task)
}

/// The number of the exercise; the calibration comes last.
pub(crate) fn place(result: &ResultFile) -> u8 {
    let number = result.exercise.strip_prefix("exercise-");
    let number = number.filter(|_| ![CALIBRATION, TURNS].contains(&&*result.task));
    number
        .and_then(|number| number.parse().ok())
        .unwrap_or(u8::MAX)
}

pub(crate) fn heading(catalogue: &Catalogue, result: &ResultFile) -> String {
    if result.task == CALIBRATION {
        return "The measuring, compared with itself".to_owned();
    }
    catalogue.get(place(result)).map_or_else(
        |_| result.exercise.clone(),
        |known| format!("Exercise {}: {}", known.number, known.title),
    )
}

/// The JSON files in a folder, by name; none when there is no such folder. Folders below belong to somebody else.
pub(crate) fn result_files(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let entries = fs::read_dir(folder).context("the results cannot be listed")?;
    let is_result = |path: &PathBuf| path.extension() == Some("json".as_ref()) && path.is_file();
    let paths = entries.flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> = paths.filter(is_result).collect();
    files.sort();
    Ok(files)
}

/// Why the reader's own file isn't shown, in one sentence.
pub fn unreadable(workspace: &Workspace, path: &Path, error: &anyhow::Error) -> String {
    let text = error
        .downcast_ref::<Trouble>()
        .map_or_else(|| format!("{error:#}"), ToString::to_string);
    let first = text.lines().next().unwrap_or_default();
    let first = first.replace(&path.display().to_string(), &files::shown(workspace, path));
    format!("{}.", first.trim_end_matches('.'))
}

fn predictions_made(workspace: &Workspace) -> anyhow::Result<usize> {
    let path = predictions::path(workspace)?;
    Ok(match path.is_file() {
        true => predictions::read(&path)?.len(),
        false => 0,
    })
}

/// Each prediction is judged once, by the reader's own measurements only: by the random reads, which are what was
/// predicted, else by the first that has the metric. It was judged when that was measured; what was changed since
/// does not count.
fn judged(own: &[ResultFile]) -> Vec<(&ResultFile, &JudgedPrediction)> {
    let mut results: Vec<&ResultFile> = own.iter().collect();
    results.sort_by_key(|result| (result.task != "reads", place(result)));
    let judged = PREDICTED.iter().filter_map(|key| {
        results.iter().find_map(|result| {
            let mut predictions = result.predictions.iter();
            Some((
                *result,
                predictions.find(|judged| judged.key.as_str() == *key)?,
            ))
        })
    });
    judged.collect()
}

fn score(made: usize, judged: &[(&ResultFile, &JudgedPrediction)]) -> String {
    if made == 0 && judged.is_empty() {
        return "You have written down no prediction. `just check exercise-1` says how.".to_owned();
    }
    if judged.is_empty() {
        return "None of your predictions is judged yet: `just measure exercise-3` does it."
            .to_owned();
    }
    let held = judged.iter().filter(|(_, prediction)| prediction.held);
    let held = held.count();
    let sure = judged
        .iter()
        .map(|(_, prediction)| prediction.confidence / 100.0);
    let expected: f64 = sure.sum();
    let mut score = format!(
        "{held} of {} held within a factor of {FACTOR}; by your confidence you expected {expected:.1}.",
        judged.len()
    );
    let waiting = made.saturating_sub(judged.len());
    if waiting > 0 {
        score.push_str(&format!(
            " {waiting} more wait for a measurement of yours: `just measure exercise-3` judges all."
        ));
    }
    score
}
