//! `{{#results exercise-3}}`: the committed reference figures next to the reader's own, as table and chart.

mod calibration;
mod chart;
mod numbers;
mod table;

use std::path::{Path, PathBuf};

pub use calibration::render as calibration;

use super::fault::Problem;
use super::html::{block, escape};
use crate::measure::results::{Language, Mode, ResultFile};
use crate::outcome::Trouble;
use crate::target::Target;
use crate::workspace::Workspace;

/// The reader's own measurement, as far as there is one.
enum Own {
    /// None yet.
    Missing,
    /// There, but of no use; why, in one sentence.
    Unreadable(String),
    /// There.
    Read(Box<ResultFile>),
}

/// The figures of one exercise.
///
/// # Errors
/// When the committed reference file is there but cannot be read. The reader's own file never is an error: whatever is
/// wrong with it is said on the page.
pub fn render(workspace: &Workspace, number: u8) -> Result<String, Problem> {
    let exercise = format!("exercise-{number}");
    let reference = reference(
        &ResultFile::reference_path(workspace, &exercise),
        ResultFile::read,
    )?;
    let own = own(workspace, number);
    let mut html = format!("<section class=\"results\" aria-label=\"Figures of {exercise}\">\n");
    match &reference {
        Some(file) => html.push_str(&about("Reference", file)),
        None => html.push_str("<p class=\"results-about\"><strong>Reference:</strong> no figures are committed yet.</p>\n"),
    }
    match &own {
        Own::Read(file) => html.push_str(&about("Yours", file)),
        Own::Missing => html.push_str(&format!(
            "<p class=\"results-about\"><strong>Yours:</strong> not measured yet. Type <code>just measure {exercise}</code>, and this page shows your figures beside the reference.</p>\n"
        )),
        Own::Unreadable(why) => html.push_str(&format!(
            "<p class=\"results-about\"><strong>Yours:</strong> {} Type <code>just measure {exercise}</code> to measure anew.</p>\n",
            escape(why)
        )),
    }
    let own = match &own {
        Own::Read(file) => Some(file.as_ref()),
        _ => None,
    };
    html.push_str(&chart::figure(reference.as_ref(), own));
    html.push_str(&table::headline(reference.as_ref(), own));
    if let Some(own) = own {
        html.push_str(&table::predictions(own));
    }
    html.push_str(&table::details(reference.as_ref(), own));
    html.push_str("</section>");
    Ok(block(&html))
}

/// A committed file: read, or not there.
fn reference<T>(
    path: &Path,
    read: impl Fn(&Path) -> anyhow::Result<T>,
) -> Result<Option<T>, Problem> {
    if !path.is_file() {
        return Ok(None);
    }
    read(path).map(Some).map_err(|error| {
        Problem::new(
            format!("the reference figures cannot be shown: {error}"),
            "measure the reference again, or git restore book/reference-results",
        )
    })
}

/// The reader's own file: of the exercise, else of the reference run on this machine.
fn own(workspace: &Workspace, number: u8) -> Own {
    let targets = [Target::Exercise(number), Target::Solution(number)];
    let baseline = (number == 1).then_some(Target::Kotlin);
    let found = targets
        .into_iter()
        .chain(baseline)
        .map(|target| ResultFile::own_path(workspace, target))
        .find(|path| path.is_file());
    found.map_or(Own::Missing, |path| match ResultFile::read(&path) {
        Ok(file) => Own::Read(Box::new(file)),
        Err(error) => Own::Unreadable(unreadable(workspace, &path, &error)),
    })
}

/// Why the reader's own file is not shown, in one sentence.
fn unreadable(workspace: &Workspace, path: &Path, error: &anyhow::Error) -> String {
    let shown: PathBuf = path.strip_prefix(workspace.root()).unwrap_or(path).into();
    let text = error
        .downcast_ref::<Trouble>()
        .map_or_else(|| format!("{error:#}"), ToString::to_string);
    let first = text.lines().next().unwrap_or_default();
    let first = first.replace(&path.display().to_string(), &shown.display().to_string());
    format!("{}.", first.trim_end_matches('.'))
}

/// Whose figures these are and what they were taken on.
fn about(whose: &str, file: &ResultFile) -> String {
    let day = file.taken_at.get(..10).unwrap_or(&file.taken_at);
    let mut parts = vec![escape(&file.machine), escape(day)];
    if let Some(commit) = &file.manifest.commit {
        let dirty = if file.manifest.dirty == Some(true) {
            " with changes"
        } else {
            ""
        };
        parts.push(format!("commit {}{dirty}", escape(commit)));
    }
    let blocks = file.manifest.blocks;
    let sides = if file.sides.len() > 1 { " a side" } else { "" };
    parts.push(format!(
        "{blocks} block{}{sides}",
        if blocks == 1 { "" } else { "s" }
    ));
    parts.push(format!(
        "data set {} ({} rows)",
        escape(&file.manifest.data_set),
        numbers::grouped(file.manifest.rows)
    ));
    if file.mode == Mode::Quick {
        parts.push("a quick run, for orientation".to_owned());
    }
    let note = match (whose, file.target.as_str()) {
        ("Yours", target) if target.starts_with("solution") => {
            " (the reference's code on your machine)"
        }
        _ => "",
    };
    let mut html = format!(
        "<p class=\"results-about\"><strong>{whose}{note}:</strong> {}.</p>\n",
        parts.join(", ")
    );
    for reason in &file.invalid {
        html.push_str(&format!(
            "<p class=\"results-invalid\"><strong>Invalid:</strong> {}</p>\n",
            escape(reason)
        ));
    }
    html
}

/// True when Kotlin and Rust were both measured.
fn compares(file: &ResultFile) -> bool {
    file.side(Language::Kotlin).is_some() && file.side(Language::Rust).is_some()
}
