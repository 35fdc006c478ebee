//! The course's own files of an exercise: the reference, and the starter, which is the reference with `starter.patch`
//! applied to it.
//!
//! The starter is kept as a patch beside the reference, not as a second copy: learners edit (and commit) the only copy
//! of the starter there is, and a checkout may be a plain download without history. Reference plus patch brings the
//! starter back in all these cases, and the author's gate compares the two.

use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::exercise::Exercise;
use crate::files::{self, Tree};
use crate::outcome::Trouble;
use crate::patches;
use crate::workspace::Workspace;

/// The patch's name in the reference's folder.
pub const STARTER_PATCH: &str = "starter.patch";
/// The name of the file in the reference's folder that says why each part of the starter is new.
pub const WHAT_IS_NEW: &str = "what-is-new.toml";

/// Files that are beside the starter only; the tool never writes them.
const STARTER_ONLY: &str = "hints.md";

/// What a folder holds in which a learner makes a crate of their own: copies of what lies beside the reference.
const GIVEN_WITHOUT_CODE: [&str; 2] = ["README.md", "openapi.yaml"];

/// Writes `starter.patch` beside the reference, from what lies in the starter's folder now; gives the file where it has changed.
pub fn write_patch(workspace: &Workspace, exercise: &Exercise) -> anyhow::Result<Option<PathBuf>> {
    let starter = in_place(workspace, exercise)?;
    let patch = make_patch(exercise, &reference(workspace, exercise)?, &starter)?;
    let path = exercise.solution(workspace).join(STARTER_PATCH);
    if files::read_if_there(&path)?.as_deref() == Some(patch.as_bytes()) {
        return Ok(None);
    }
    files::write_atomically(&path, patch.as_bytes())?;
    Ok(Some(path))
}

/// The reference as it looks in the learner's folder: under the learner's package name.
pub fn reference(workspace: &Workspace, exercise: &Exercise) -> anyhow::Result<Tree> {
    Ok(under_name(
        reference_files(workspace, exercise)?,
        &exercise.reference_name(),
        &exercise.name(),
    ))
}

/// The files of the reference as they lie there, without what belongs to the author alone: the planted mistakes, the
/// other good answers, the starter's patch, and what is new in it.
pub fn reference_files(workspace: &Workspace, exercise: &Exercise) -> anyhow::Result<Tree> {
    let folder = exercise.solution(workspace);
    let mut tree = files::read_tree(&folder)?;
    tree.retain(|path, _| !is_the_authors(path));
    anyhow::ensure!(
        !tree.is_empty(),
        broken(workspace, &folder, "holds no files")
    );
    Ok(tree)
}

/// True for what belongs to the author alone, by its path in the reference's folder.
pub fn is_the_authors(path: &Path) -> bool {
    let own = [
        "mistakes",
        "ways",
        "cases",
        "incidents",
        STARTER_PATCH,
        WHAT_IS_NEW,
    ];
    own.iter().any(|own| path.starts_with(own))
}

/// The same crate under another package name.
pub fn under_name(mut tree: Tree, from: &str, to: &str) -> Tree {
    if let Some(manifest) = tree.get_mut(Path::new("Cargo.toml")) {
        let text = String::from_utf8_lossy(manifest);
        *manifest = text
            .replace(&format!("name = \"{from}\""), &format!("name = \"{to}\""))
            .into_bytes();
    }
    tree
}

/// The starter: the reference, with the patch applied; of a crate that learners make themselves, what is given without code.
pub fn starter(workspace: &Workspace, exercise: &Exercise) -> anyhow::Result<Tree> {
    if exercise.is_own() {
        return Ok(without_code(reference_files(workspace, exercise)?));
    }
    starter_from(workspace, exercise, reference(workspace, exercise)?)
}

/// What of a reference is given to learners who make the crate themselves.
pub fn without_code(mut reference: Tree) -> Tree {
    reference.retain(|path, _| {
        GIVEN_WITHOUT_CODE
            .iter()
            .any(|given| path == Path::new(given))
    });
    reference
}

/// The starter that the patch makes of this state of the reference.
pub fn starter_from(
    workspace: &Workspace,
    exercise: &Exercise,
    mut reference: Tree,
) -> anyhow::Result<Tree> {
    let path = exercise.solution(workspace).join(STARTER_PATCH);
    let text = std::fs::read_to_string(&path)
        .map_err(|error| broken(workspace, &path, &format!("cannot be read ({error})")))?;
    patches::apply(&mut reference, &text)
        .map_err(|misfit| broken(workspace, &path, &misfit.to_string()))?;
    Ok(reference)
}

fn broken(workspace: &Workspace, path: &Path, how: &str) -> Trouble {
    let path = files::shown(workspace, path);
    let folder = path.trim_end_matches(STARTER_PATCH).trim_end_matches('/');
    Trouble::new(format!("{path} {how}"))
        .expected(format!("the files of {folder} as the course ships them; your own files were not touched"))
        .next(format!("git restore {folder} (or take the folder from a fresh download), then the same command again"))
}

/// What lies in the learner's folder, as far as it is the learner's or may be replaced by the tool.
pub fn in_place(workspace: &Workspace, exercise: &Exercise) -> anyhow::Result<Tree> {
    let mut tree = files::read_tree(&exercise.starter(workspace))?;
    tree.remove(Path::new(STARTER_ONLY));
    Ok(tree)
}

/// The files outside the edit list in which starter and reference differ.
pub fn strays(exercise: &Exercise, reference: &Tree, starter: &Tree) -> Vec<String> {
    let differing = files::differing(starter, reference).into_iter();
    let strays = differing.filter(|path| !exercise.edit.contains(path));
    strays.map(|path| path.display().to_string()).collect()
}

/// For the author: the patch that leads from the reference to the starter. An error when files outside the edit list differ.
pub fn make_patch(exercise: &Exercise, reference: &Tree, starter: &Tree) -> anyhow::Result<String> {
    let strays = strays(exercise, reference, starter);
    if strays.is_empty() {
        return Ok(patches::between(reference, starter));
    }
    let (name, strays) = (exercise.name(), strays.join(", "));
    Trouble::new(format!(
        "starter and reference of {name} differ in {strays}"
    ))
    .expected("differences in the files of the edit list only")
    .next("make them alike, or list them under edit in both exercise.toml")
    .failed()
    .err()
}

/// For the author's gate: what is wrong with the starter's patch, one line per file; empty when reference plus patch is
/// exactly what is in the starter's folder.
pub fn patch_faults(workspace: &Workspace, exercise: &Exercise) -> anyhow::Result<Vec<String>> {
    let made =
        starter(workspace, exercise).context("the starter cannot be made from the reference")?;
    let there = in_place(workspace, exercise)?;
    let (name, mut differing) = (exercise.name(), files::differing(&made, &there));
    // A learner who makes the crate has files there that no reference knows.
    differing.retain(|path| !exercise.is_own() || made.contains_key(path));
    let told = differing.iter().map(|path| {
        let shown = path.display();
        match exercise.is_own() {
            true => {
                let given = files::shown(workspace, &exercise.solution(workspace).join(path));
                format!("{shown} isn't the reference's; copy {given} over it")
            }
            false => format!("{shown} isn't what {STARTER_PATCH} makes of the reference; run just starter-patch {name}"),
        }
    });
    Ok(told.collect())
}
