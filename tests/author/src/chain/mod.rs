//! The chain: the references of the port are one service in successive states, and a change to an early state belongs
//! in all the later ones.
//!
//! Each state is readable on its own, so the states are copies, and a change is carried from copy to copy. Three things
//! grow from a reference: its starter, its planted mistakes, and the next reference. What has changed in a reference since
//! a commit ([`git`]) is merged into each of them ([`carry`]), by git as well ([`merge`]).

pub mod carry;
pub mod git;
mod merge;

use std::path::Path;

use workshop_base::exercise::{Catalogue, Exercise, GrowsFrom};
use workshop_base::files::{self, Tree};
use workshop_base::originals;
use workshop_base::workspace::Workspace;

/// Where the starter differs from the reference before it without saying so; one line per file.
pub fn unannounced(
    workspace: &Workspace,
    catalogue: &Catalogue,
    exercise: &Exercise,
    grows_from: &GrowsFrom,
) -> anyhow::Result<Vec<String>> {
    let before = catalogue.get(grows_from.exercise)?;
    let old = originals::under_name(
        without_description(originals::reference_files(workspace, before)?),
        &before.reference_name(),
        &exercise.name(),
    );
    let new = without_description(originals::in_place(workspace, exercise)?);
    let differing = files::differing(&old, &new);
    let mut faults = Vec::new();
    for path in &differing {
        if !exercise.edit.contains(path) && !grows_from.given.contains(path) {
            faults.push(format!(
                "{} isn't as in the reference of {}, and neither edit nor given lists it",
                path.display(),
                before.name()
            ));
        }
    }
    for path in &grows_from.given {
        if exercise.edit.contains(path) {
            faults.push(format!("both edit and given list {}", path.display()));
        } else if !differing.contains(path) {
            faults.push(format!(
                "given lists {}, but it is as in the reference of {}",
                path.display(),
                before.name()
            ));
        }
    }
    Ok(faults)
}

/// The next reference has a description of its own.
fn without_description(mut tree: Tree) -> Tree {
    tree.remove(Path::new("exercise.toml"));
    tree
}
