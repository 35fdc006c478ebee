//! `just reset`: back to the starter, after keeping the learner's files as an attempt.

use std::path::PathBuf;

use crate::attempts;

use crate::attempts::Replacement;
use crate::state;
use workshop_base::exercise::Exercise;
use workshop_base::files;
use workshop_base::originals;
use workshop_base::outcome::Outcome;
use workshop_base::workspace::Workspace;

/// Puts the starter back in place.
///
/// # Errors
/// When the starter cannot be made, or the disk refuses; the learner's files are in place or kept then.
pub fn run(workspace: &Workspace, exercise: &Exercise) -> anyhow::Result<Outcome> {
    let starter = originals::starter(workspace, exercise)?;
    match attempts::replace(workspace, exercise, &starter)? {
        None => println!("{} is the starter already; nothing to do.", exercise.name()),
        Some(replacement) => {
            println!(
                "{} is back at the starter: {}.",
                exercise.name(),
                list(&replacement.written)
            );
            tell(workspace, exercise, &replacement)?;
        }
    }
    println!("next: just check {}", exercise.name());
    Ok(Outcome::Passed)
}

/// Says where the learner's files are now and how they come back, and forgets the last check, which was of those files.
pub(super) fn tell(
    workspace: &Workspace,
    exercise: &Exercise,
    replacement: &Replacement,
) -> anyhow::Result<()> {
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
    let mut memory = state::recall(workspace, exercise);
    memory.last_check = None;
    memory.last_hint = None;
    state::remember(workspace, exercise, &memory)
}

/// The files, separated by commas.
pub(super) fn list(paths: &[PathBuf]) -> String {
    if paths.is_empty() {
        return "only files of yours were in the way".to_owned();
    }
    paths
        .iter()
        .map(|path| path.display().to_string())
        .collect::<Vec<_>>()
        .join(", ")
}
