//! `carried.toml` beside a reference: which contents it has taken over from the reference before it, and which of its own
//! its starter and its planted mistakes have taken over, each by the id that git gives a content.
//!
//! The ids make it a record and a way back at once: a content that is not there any more is found in the repository by
//! its id, as the base of a merge.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::chain::git;
use workshop_base::exercise::Exercise;
use workshop_base::files;
use workshop_base::files::Tree;
use workshop_base::originals;
use workshop_base::outcome::Trouble;
use workshop_base::workspace::Workspace;

/// The ids of contents, by path.
pub type Ids = BTreeMap<PathBuf, String>;

const HEADER: &str = "\
# Written by `just carry`: the contents that were taken over from each reference, by the ids that git gives them. From
# the reference before, they are in this one; from this one, they are in its starter and its planted mistakes.
";

/// The record beside one reference: by the exercise that the contents are from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Record(BTreeMap<String, Ids>);

impl Record {
    /// Reads the record; an empty one when there is none yet.
    ///
    /// # Errors
    /// When it cannot be read or is malformed.
    pub fn read(workspace: &Workspace, exercise: &Exercise) -> anyhow::Result<Record> {
        let path = place(workspace, exercise);
        let fault = match std::fs::read_to_string(&path) {
            Ok(text) => match toml::from_str(&text) {
                Ok(record) => return Ok(record),
                Err(error) => error.to_string(),
            },
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Record::default());
            }
            Err(error) => error.to_string(),
        };
        let shown = files::shown(workspace, &path);
        Err(Trouble::new(format!("{shown} cannot be understood: {fault}"))
            .expected("a table an exercise, and in it a path and an id a line, as just carry writes them")
            .next(format!(
                "take the older of the two sides where a merge left both, or git restore {shown}; then just carry"
            ))
            .into())
    }

    /// What was taken over from this exercise's reference; none when nothing was recorded yet.
    pub fn taken_from(&self, source: &Exercise) -> Option<&Ids> {
        self.0.get(&source.name())
    }

    /// The names of the exercises that something was taken over from.
    pub fn sources(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Records that these files of this exercise's reference are taken over now.
    pub fn take(&mut self, source: &Exercise, files: &Tree) {
        self.0.insert(source.name(), ids(files));
    }

    /// The text of the file.
    ///
    /// # Errors
    /// When a path is no UTF-8.
    pub fn text(&self) -> anyhow::Result<String> {
        Ok(format!("{HEADER}\n{}", toml::to_string(self)?))
    }
}

/// Where the record of an exercise lies.
pub fn place(workspace: &Workspace, exercise: &Exercise) -> PathBuf {
    exercise.solution(workspace).join(originals::CARRIED)
}

/// Has git keep the contents, committed or not, so that a later merge finds its base.
///
/// # Errors
/// When git cannot be run.
pub fn keep(workspace: &Workspace, files: &Tree) -> anyhow::Result<()> {
    files
        .values()
        .try_for_each(|content| git::keep(workspace.root(), content))
}

/// The ids of all files.
pub fn ids(files: &Tree) -> Ids {
    files
        .iter()
        .map(|(path, content)| (path.clone(), git::id(content)))
        .collect()
}

/// The paths that one has and the other has not, or with another content.
pub fn differing(one: &Ids, other: &Ids) -> Vec<PathBuf> {
    let paths: BTreeSet<&PathBuf> = one.keys().chain(other.keys()).collect();
    paths
        .into_iter()
        .filter(|path| one.get(*path) != other.get(*path))
        .cloned()
        .collect()
}

/// The files with these ids; `now` is where most of them still are as they were.
///
/// # Errors
/// When a content is neither there nor in the repository.
pub fn files_of(
    workspace: &Workspace,
    source: &Exercise,
    ids: &Ids,
    now: &Tree,
) -> anyhow::Result<Tree> {
    let mut tree = Tree::new();
    for (path, id) in ids {
        let there = now.get(path).filter(|content| git::id(content) == *id);
        let content = match there {
            Some(content) => Some(content.clone()),
            None => git::content(workspace.root(), id)?,
        };
        let content = content.ok_or_else(|| gone(workspace, source, path, id))?;
        tree.insert(path.clone(), content);
    }
    Ok(tree)
}

fn gone(workspace: &Workspace, source: &Exercise, path: &Path, id: &str) -> Trouble {
    let file = files::shown(workspace, &source.solution(workspace).join(path));
    Trouble::new(format!(
        "{file} has changed, and its content before (git's {}) is not in this repository",
        &id[..id.len().min(12)]
    ))
    .expected("a clone with the whole history, for the base of the merge")
    .next("git fetch --unshallow where the clone is shallow; else make the change in each later state by hand, remove the carried.toml of those, and run just carry again")
}
