//! `just reset`: back to the starter, after keeping the learner's files as an attempt.

use std::path::PathBuf;

use crate::{attempts, state};

use workshop_base::exercise::Exercise;
use workshop_base::files::{self, Tree};
use workshop_base::originals;
use workshop_base::outcome::Outcome;
use workshop_base::workspace::Workspace;
use workshop_harness::build::aside;

/// Puts the starter back in place.
pub fn run(workspace: &Workspace, exercise: &Exercise) -> anyhow::Result<Outcome> {
    let starter = originals::starter(workspace, exercise)?;
    let outcome = put_in_place(workspace, exercise, &starter, "the starter")?;
    restore_the_lock_file(workspace)?;
    Ok(outcome)
}

/// Brings the committed `Cargo.lock` back where the one here is none that cargo can read, and keeps that one.
fn restore_the_lock_file(workspace: &Workspace) -> anyhow::Result<()> {
    let Some(committed) = aside::instead_of_a_broken_lock(workspace) else {
        return Ok(());
    };
    let path = workspace.root().join(aside::LOCK_FILE);
    let broken = files::read_if_there(&path)?.unwrap_or_default();
    let broken = Tree::from([(aside::LOCK_FILE.into(), broken)]);
    let kept = attempts::keep(workspace, aside::LOCK_FILE, &broken)?;
    files::write_atomically(&path, &committed)?;
    println!(
        "Cargo.lock, which cargo could not read, is the committed one again. Yours is kept in {}",
        files::shown(workspace, &kept)
    );
    Ok(())
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
