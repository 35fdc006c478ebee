//! The chain: the references of the port are one service in successive states, and a change to an early state belongs
//! into all the later ones.
//!
//! Each state is readable on its own, so the states are copies, and a change is carried from copy to copy. Three things
//! grow from a reference: its starter, its planted mistakes, and the next reference. `carried.toml` beside each
//! reference records which contents were taken over ([`record`]). What differs from the record has not been carried:
//! that is what `just verify` refuses, and where `just carry` begins ([`carry`]). Every step is a three-way merge
//! by git, and what that cannot decide is laid out for the author ([`merge`]).

pub mod carry;
pub mod merge;
pub mod record;

use std::path::Path;

use record::Record;

use workshop_base::exercise::{Catalogue, Exercise, GrowsFrom};
use workshop_base::files::{self, Tree};
use workshop_base::originals;
use workshop_base::workspace::Workspace;

/// What of the reference before is not in this reference, and what of this reference is not in its starter and its
/// mistakes, as far as the record says; one line per file.
pub fn not_carried(
    workspace: &Workspace,
    catalogue: &Catalogue,
    exercise: &Exercise,
) -> anyhow::Result<Vec<String>> {
    let record = Record::read(workspace, exercise)?;
    let mut sources = vec![exercise];
    if let Some(grows_from) = &exercise.grows_from {
        sources.push(catalogue.get(grows_from.exercise)?);
    }
    let mut faults = Vec::new();
    for name in record.sources() {
        if !sources.iter().any(|source| source.name() == name) {
            faults.push(format!(
                "{} says that files of {name} were taken over, but exercise.toml has no [grows_from] with it",
                originals::CARRIED
            ));
        }
    }
    for source in sources {
        let name = source.name();
        let Some(taken) = record.taken_from(source) else {
            let record = originals::CARRIED;
            faults.push(format!(
                "{record} doesn't mention {name}; run just carry {name}"
            ));
            continue;
        };
        let now = record::ids(&what_is_carried(workspace, source, exercise)?);
        let taker = if source == exercise {
            "its starter and its mistakes"
        } else {
            &exercise.name()
        };
        for path in files::differing(taken, &now) {
            faults.push(format!(
                "{} of {name} has changed since {taker} took it over; run just carry {name}",
                path.display()
            ));
        }
    }
    Ok(faults)
}

/// Where the starter differs from the reference before it without saying so; one line per file.
pub fn unannounced(
    workspace: &Workspace,
    catalogue: &Catalogue,
    exercise: &Exercise,
    grows_from: &GrowsFrom,
) -> anyhow::Result<Vec<String>> {
    let before = catalogue.get(grows_from.exercise)?;
    let old = originals::under_name(
        what_is_carried(workspace, before, exercise)?,
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

/// The files of a reference that are carried to `taker`: all of them to its own starter and mistakes; all but the
/// description of the exercise to the next reference, which has a description of its own.
fn what_is_carried(
    workspace: &Workspace,
    source: &Exercise,
    taker: &Exercise,
) -> anyhow::Result<Tree> {
    let mut files = originals::reference_files(workspace, source)?;
    if source != taker {
        files = without_description(files);
    }
    Ok(files)
}

fn without_description(mut tree: Tree) -> Tree {
    tree.remove(Path::new("exercise.toml"));
    tree
}
