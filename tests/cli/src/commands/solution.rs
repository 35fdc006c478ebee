//! `just solution`: the difference between the learner's files and the reference, or the reference in their place.

use std::path::{Path, PathBuf};

use diffy::{DiffOptions, PatchFormatter};

use crate::commands::reset::{list, put_in_place};

use workshop_base::exercise::Exercise;
use workshop_base::files::{self, Tree};
use workshop_base::originals;
use workshop_base::outcome::Outcome;
use workshop_base::terminal::{Style, paint};
use workshop_base::workspace::Workspace;

/// Prints the difference; with `apply`, puts the reference in place after keeping the learner's files as an attempt.
pub fn run(workspace: &Workspace, exercise: &Exercise, apply: bool) -> anyhow::Result<Outcome> {
    let reference = originals::reference(workspace, exercise)?;
    if apply {
        return put_in_place(workspace, exercise, &reference, "the reference");
    }
    let name = exercise.name();
    let mine = originals::in_place(workspace, exercise)?;
    let (differing, others): (Vec<_>, Vec<_>) = files::differing(&mine, &reference)
        .into_iter()
        .partition(|path| exercise.edit.contains(path));
    let (given, added): (Vec<PathBuf>, Vec<PathBuf>) = others
        .into_iter()
        .partition(|path| reference.contains_key(path));
    for path in &differing {
        let shown = |folder: PathBuf| files::shown(workspace, &folder.join(path));
        print_difference(
            (&shown(exercise.starter(workspace)), text(&mine, path)),
            (&shown(exercise.solution(workspace)), text(&reference, path)),
        );
    }
    if differing.is_empty() {
        println!("No difference: your files of {name} are those of the reference.");
    }
    if !given.is_empty() {
        println!(
            "Not yours to edit, but not as the course ships them: {}.",
            list(&given)
        );
    }
    if !added.is_empty() {
        println!("Added by you, not in the reference: {}.", list(&added));
    }
    if !differing.is_empty() || !given.is_empty() {
        println!("next: just solution {name} --apply puts the reference in place; yours is kept");
    }
    Ok(Outcome::Passed)
}

fn text(tree: &Tree, path: &Path) -> String {
    String::from_utf8_lossy(tree.get(path).map_or(&[], Vec::as_slice)).into_owned()
}

/// A unified difference of two texts, each with the name of its file.
fn print_difference(mine: (&str, String), reference: (&str, String)) {
    let mut options = DiffOptions::new();
    options
        .set_original_filename(format!("{} (yours)", mine.0))
        .set_modified_filename(format!("{} (reference)", reference.0));
    let patch = options.create_patch(&mine.1, &reference.1);
    let formatter = PatchFormatter::new().suppress_blank_empty(false);
    for (number, line) in formatter.fmt_patch(&patch).to_string().lines().enumerate() {
        let style = match line.as_bytes().first() {
            _ if number < 2 => Style::Strong,
            Some(b'+') => Style::Good,
            Some(b'-') => Style::Bad,
            Some(b'@') => Style::Faint,
            _ => {
                println!("{line}");
                continue;
            }
        };
        println!("{}", paint(style, line));
    }
    println!();
}
