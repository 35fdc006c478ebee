//! The course's own files of an exercise: the reference, and the starter, which is the reference with `starter.patch`
//! applied to it.
//!
//! The starter is kept as a patch beside the reference, not as a second copy: learners edit (and commit) the only copy
//! of the starter there is, and a checkout may be a plain download without history. Reference plus patch brings the
//! starter back in all these cases, and the author's gate holds the two against each other.

use std::path::{Path, PathBuf};

use anyhow::Context;
use diffy::patch_set::{FileOperation, ParseOptions, PatchSet};
use diffy::{DiffOptions, PatchFormatter};

use crate::exercise::Exercise;
use crate::files::{self, Tree};
use crate::outcome::Trouble;
use crate::workspace::Workspace;

/// The patch's name in the reference's folder.
pub const STARTER_PATCH: &str = "starter.patch";

/// Files that stand beside the starter only; the tool never writes them.
const STARTER_ONLY: &str = "hints.md";

/// The reference as it looks in the learner's folder: under the learner's package name, without what belongs to the
/// author (planted mistakes, the starter's patch).
///
/// # Errors
/// When the files cannot be read.
pub fn reference(workspace: &Workspace, exercise: &Exercise) -> anyhow::Result<Tree> {
    let folder = exercise.solution(workspace);
    let mut tree = files::read_tree(&folder)?;
    tree.retain(|path, _| !path.starts_with("mistakes") && path != Path::new(STARTER_PATCH));
    anyhow::ensure!(
        !tree.is_empty(),
        broken(workspace, &folder, "holds no files")
    );
    if let Some(manifest) = tree.get_mut(Path::new("Cargo.toml")) {
        let text = String::from_utf8_lossy(manifest);
        let renamed = text.replace(
            &format!("name = \"solution-{}\"", exercise.number),
            &format!("name = \"exercise-{}\"", exercise.number),
        );
        *manifest = renamed.into_bytes();
    }
    Ok(tree)
}

/// The starter: the reference, with the patch applied.
///
/// # Errors
/// When the patch is missing or does not fit the reference, which happens when somebody edited either.
pub fn starter(workspace: &Workspace, exercise: &Exercise) -> anyhow::Result<Tree> {
    let mut tree = reference(workspace, exercise)?;
    let path = exercise.solution(workspace).join(STARTER_PATCH);
    let text = std::fs::read_to_string(&path)
        .map_err(|error| broken(workspace, &path, &format!("cannot be read ({error})")))?;
    for file in PatchSet::parse(&text, ParseOptions::unidiff()) {
        let file =
            file.map_err(|error| broken(workspace, &path, &format!("is no patch ({error})")))?;
        let patch = file
            .patch()
            .as_text()
            .ok_or_else(|| broken(workspace, &path, "is no patch of text files"))?;
        let operation = file.operation().strip_prefix(1);
        let (old, new) = match &operation {
            FileOperation::Create(new) => (None, Some(new.as_ref())),
            FileOperation::Delete(old) => (Some(old.as_ref()), None),
            FileOperation::Modify { original, modified } => {
                (Some(original.as_ref()), Some(modified.as_ref()))
            }
            FileOperation::Rename { .. } | FileOperation::Copy { .. } => {
                return Err(broken(
                    workspace,
                    &path,
                    "renames files; it may only change, add and delete them",
                )
                .into());
            }
        };
        let before = old
            .and_then(|old| tree.remove(Path::new(old)))
            .unwrap_or_default();
        let after = diffy::apply(&String::from_utf8_lossy(&before), patch).map_err(|error| {
            let name = old.or(new).unwrap_or_default();
            broken(
                workspace,
                &path,
                &format!("does not fit {name} of the reference ({error})"),
            )
        })?;
        if let Some(new) = new {
            tree.insert(PathBuf::from(new), after.into_bytes());
        }
    }
    Ok(tree)
}

fn broken(workspace: &Workspace, path: &Path, how: &str) -> Trouble {
    let path = files::shown(workspace, path);
    let folder = path.trim_end_matches(STARTER_PATCH).trim_end_matches('/');
    Trouble::new(format!("{path} {how}"))
        .expected(format!("the files of {folder} as the course ships them; your own files were not touched"))
        .next(format!("git restore {folder} (or take the folder from a fresh download), then the same command again"))
}

/// What lies in the learner's folder, as far as it is the learner's or may be replaced by the tool.
///
/// # Errors
/// When the files cannot be read.
pub fn in_place(workspace: &Workspace, exercise: &Exercise) -> anyhow::Result<Tree> {
    let mut tree = files::read_tree(&exercise.starter(workspace))?;
    tree.remove(Path::new(STARTER_ONLY));
    Ok(tree)
}

/// For the author: the patch that leads from the reference to what lies in the starter's folder now.
///
/// # Errors
/// When files outside the edit list differ; they have to be alike.
pub fn make_patch(workspace: &Workspace, exercise: &Exercise) -> anyhow::Result<String> {
    let reference = reference(workspace, exercise)?;
    let starter = in_place(workspace, exercise)?;
    let strays = differing(&starter, &reference)
        .into_iter()
        .filter(|path| !exercise.edit.contains(path))
        .map(|path| path.display().to_string())
        .collect::<Vec<_>>();
    if !strays.is_empty() {
        return Err(Trouble::new(format!(
            "starter and reference of {} differ in {}",
            exercise.name(),
            strays.join(", ")
        ))
        .expected("differences in the files of the edit list only")
        .next("make them alike, or list them under edit in both exercise.toml")
        .failed()
        .into());
    }
    let mut text = String::new();
    for path in differing(&starter, &reference) {
        let name = |side: &str, tree: &Tree| match tree.get(&path) {
            Some(_) => format!("{side}/{}", path.display()),
            None => "/dev/null".to_owned(),
        };
        let content = |tree: &Tree| {
            String::from_utf8_lossy(tree.get(&path).map_or(&[], Vec::as_slice)).into_owned()
        };
        let (before, after) = (content(&reference), content(&starter));
        let mut options = DiffOptions::new();
        options
            .set_original_filename(name("a", &reference))
            .set_modified_filename(name("b", &starter));
        let patch = options.create_patch(&before, &after);
        // Spaces before empty context lines are kept as git writes them, so that other tools read the patch too.
        let formatter = PatchFormatter::new().suppress_blank_empty(false);
        text.push_str(&formatter.fmt_patch(&patch).to_string());
    }
    Ok(text)
}

/// For the author's gate: what is wrong with the starter's patch, one line a file; empty when reference plus patch is
/// exactly what lies in the starter's folder.
///
/// # Errors
/// When the patch cannot be applied at all.
pub fn patch_faults(workspace: &Workspace, exercise: &Exercise) -> anyhow::Result<Vec<String>> {
    let made =
        starter(workspace, exercise).context("the starter cannot be made from the reference")?;
    let there = in_place(workspace, exercise)?;
    Ok(differing(&made, &there)
        .into_iter()
        .map(|path| {
            format!(
                "{} is not what {STARTER_PATCH} makes of the reference; run workshop starter-patch {}",
                path.display(),
                exercise.name()
            )
        })
        .collect())
}

/// The paths that are in one tree only, or with another content in the other.
pub fn differing(one: &Tree, other: &Tree) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = one
        .iter()
        .filter(|(path, bytes)| other.get(*path) != Some(bytes))
        .map(|(path, _)| path)
        .chain(other.keys().filter(|path| !one.contains_key(*path)))
        .cloned()
        .collect();
    paths.sort();
    paths
}
