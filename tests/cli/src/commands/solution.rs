//! `just solution`: the difference between the learner's files and the reference, or the reference in their place.

use std::path::{Path, PathBuf};

use diffy::{DiffOptions, PatchFormatter};

use crate::commands::reset::list;

use crate::attempts;
use crate::commands::reset::tell;
use workshop_base::exercise::Exercise;
use workshop_base::files;
use workshop_base::files::Tree;
use workshop_base::originals;
use workshop_base::outcome::Outcome;
use workshop_base::terminal::Style;
use workshop_base::terminal::paint;
use workshop_base::workspace::Workspace;

/// Prints the difference; with `apply`, puts the reference in place after keeping the learner's files as an attempt.
///
/// # Errors
/// When the reference cannot be read, or the disk refuses; the learner's files are in place or kept then.
pub fn run(workspace: &Workspace, exercise: &Exercise, apply: bool) -> anyhow::Result<Outcome> {
    let reference = originals::reference(workspace, exercise)?;
    if apply {
        put_in_place(workspace, exercise, &reference)?;
    } else {
        show(workspace, exercise, &reference)?;
    }
    Ok(Outcome::Passed)
}

fn put_in_place(
    workspace: &Workspace,
    exercise: &Exercise,
    reference: &Tree,
) -> anyhow::Result<()> {
    match attempts::replace(workspace, exercise, reference)? {
        None => println!(
            "{} is the reference already; nothing to do.",
            exercise.name()
        ),
        Some(replacement) => {
            println!(
                "The reference is in place in {}: {}.",
                exercise.name(),
                list(&replacement.written)
            );
            tell(workspace, exercise, &replacement)?;
        }
    }
    println!("next: just check {}", exercise.name());
    Ok(())
}

fn show(workspace: &Workspace, exercise: &Exercise, reference: &Tree) -> anyhow::Result<()> {
    let mine = originals::in_place(workspace, exercise)?;
    let (differing, others): (Vec<_>, Vec<_>) = files::differing(&mine, reference)
        .into_iter()
        .partition(|path| exercise.edit.contains(path));
    for path in &differing {
        print_difference(workspace, exercise, path, &mine, reference);
    }
    if differing.is_empty() {
        println!(
            "No difference: your files of {} are those of the reference.",
            exercise.name()
        );
    }
    let (given, added): (Vec<PathBuf>, Vec<PathBuf>) = others
        .into_iter()
        .partition(|path| reference.contains_key(path));
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
        println!(
            "next: just solution {} --apply puts the reference in place; yours is kept",
            exercise.name()
        );
    }
    Ok(())
}

fn print_difference(
    workspace: &Workspace,
    exercise: &Exercise,
    path: &Path,
    mine: &Tree,
    reference: &Tree,
) {
    let text = |tree: &Tree| {
        String::from_utf8_lossy(tree.get(path).map_or(&[], Vec::as_slice)).into_owned()
    };
    let (mine, theirs) = (text(mine), text(reference));
    let mut options = DiffOptions::new();
    options
        .set_original_filename(format!(
            "{} (yours)",
            files::shown(workspace, &exercise.starter(workspace).join(path))
        ))
        .set_modified_filename(format!(
            "{} (reference)",
            files::shown(workspace, &exercise.solution(workspace).join(path))
        ));
    let patch = options.create_patch(&mine, &theirs);
    let formatter = PatchFormatter::new().suppress_blank_empty(false);
    for (number, line) in formatter.fmt_patch(&patch).to_string().lines().enumerate() {
        let style = match line.as_bytes().first() {
            _ if number < 2 => Some(Style::Strong),
            Some(b'+') => Some(Style::Good),
            Some(b'-') => Some(Style::Bad),
            Some(b'@') => Some(Style::Faint),
            _ => None,
        };
        println!(
            "{}",
            style.map_or_else(|| line.to_owned(), |style| paint(style, line))
        );
    }
    println!();
}
