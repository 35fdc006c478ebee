//! `workshop starter-patch`: for the author, writes the patch that makes the starter out of the reference.

use crate::chain::record;
use crate::exercise::Exercise;
use crate::files;
use crate::originals;
use crate::outcome::Outcome;
use crate::workspace::Workspace;

/// Writes `starter.patch` beside the reference, from what lies in the starter's folder now.
///
/// # Errors
/// When starter and reference differ outside the edit list, or the file cannot be written.
pub fn run(workspace: &Workspace, exercise: &Exercise) -> anyhow::Result<Outcome> {
    let patch = originals::make_patch(
        exercise,
        &originals::reference(workspace, exercise)?,
        &originals::in_place(workspace, exercise)?,
    )?;
    let path = exercise.solution(workspace).join(originals::STARTER_PATCH);
    files::write_atomically(&path, patch.as_bytes())?;
    record::confirm(workspace, exercise)?;
    println!(
        "{} makes the starter of {} now",
        files::shown(workspace, &path),
        exercise.name()
    );
    Ok(Outcome::Passed)
}
