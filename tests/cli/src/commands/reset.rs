//! `just reset`: back to the starter, after keeping the learner's files as an attempt.

use std::path::PathBuf;

use crate::{attempts, state};

use workshop_base::exercise::Exercise;
use workshop_base::files::{self, Tree};
use workshop_base::originals;
use workshop_base::outcome::Outcome;
use workshop_base::workspace::Workspace;

/// Puts the starter back in place.
pub fn run(workspace: &Workspace, exercise: &Exercise) -> anyhow::Result<Outcome> {
    let starter = originals::starter(workspace, exercise)?;
    put_in_place(workspace, exercise, &starter, "the starter")
}

/// Puts these files in place of the learner's, says where those are now, and forgets the last check, which was of them.
pub(super) fn put_in_place(
    workspace: &Workspace,
    exercise: &Exercise,
    wanted: &Tree,
    what: &str,
) -> anyhow::Result<Outcome> {
    let name = exercise.name();
    let Some(replacement) = attempts::replace(workspace, exercise, wanted)? else {
        println!("{name} is {what} already; nothing to do.\nnext: just check {name}");
        return Ok(Outcome::Passed);
    };
    if replacement.written.is_empty() {
        println!("{name} is {what} now: only files of yours were in the way.");
    } else {
        println!("{name} is {what} now: {}.", list(&replacement.written));
    }
    if let Some(attempt) = &replacement.attempt {
        let attempt = files::shown(workspace, attempt);
        let folder = files::shown(workspace, &exercise.starter(workspace));
        println!("Your files are kept in {attempt}");
        if !replacement.moved.is_empty() {
            println!(
                "Files you had added, which Cargo would build, are only there now: {}.",
                list(&replacement.moved)
            );
        }
        println!("To bring them back: cp -R {attempt}/. {folder}/");
    }
    state::forget(workspace, exercise)?;
    println!("next: just check {name}");
    Ok(Outcome::Passed)
}

/// The files, separated by commas.
pub(super) fn list(paths: &[PathBuf]) -> String {
    let names: Vec<_> = paths
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    names.join(", ")
}
