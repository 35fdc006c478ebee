//! `carried.toml` beside a reference: which contents it has taken over from the reference before it, and which of its own its
//! starter and its planted mistakes have taken over, each by the id that git gives a content.
//!
//! The ids are a record and a way back at once: git finds a content that has changed since by its id, as the base of a merge.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde::{Deserialize, Serialize};
use sha1::{Digest, Sha1};

use workshop_base::exercise::Exercise;
use workshop_base::files::{self, Tree};
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
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Record(BTreeMap<String, Ids>);

impl Record {
    /// Reads the record; an empty one when there is none yet.
    pub fn read(workspace: &Workspace, exercise: &Exercise) -> anyhow::Result<Record> {
        let path = place(workspace, exercise);
        let text = files::read_if_there(&path)?.unwrap_or_default();
        toml::from_slice(&text).map_err(|error| {
            let shown = files::shown(workspace, &path);
            Trouble::new(format!("{shown} cannot be understood: {error}"))
                .expected("one table per exercise, one path and id per line, as just carry writes them")
                .next(format!(
                    "take the older of the two sides where a merge left both, or git restore {shown}; then just carry"
                ))
                .into()
        })
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
    pub fn text(&self) -> anyhow::Result<String> {
        Ok(format!("{HEADER}\n{}", toml::to_string(self)?))
    }
}

/// Where the record of an exercise is.
pub fn place(workspace: &Workspace, exercise: &Exercise) -> PathBuf {
    exercise.solution(workspace).join(originals::CARRIED)
}

/// The ids of all files.
pub fn ids(files: &Tree) -> Ids {
    files
        .iter()
        .map(|(path, content)| (path.clone(), id(content)))
        .collect()
}

/// The id under which git keeps this content.
pub fn id(content: &[u8]) -> String {
    let mut hash = Sha1::new();
    hash.update(format!("blob {}\0", content.len()));
    hash.update(content);
    let hash = hash.finalize();
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The files with these ids; `now` is where most of them still are as they were.
pub fn files_of(
    workspace: &Workspace,
    source: &Exercise,
    ids: &Ids,
    now: &Tree,
) -> anyhow::Result<Tree> {
    let mut tree = Tree::new();
    for (path, wanted) in ids {
        let there = now.get(path).filter(|content| id(content) == *wanted);
        let content = match there {
            Some(content) => content.clone(),
            None => {
                kept(workspace, wanted)?.ok_or_else(|| gone(workspace, source, path, wanted))?
            }
        };
        tree.insert(path.clone(), content);
    }
    Ok(tree)
}

fn gone(workspace: &Workspace, source: &Exercise, path: &Path, id: &str) -> Trouble {
    let file = files::shown(workspace, &source.solution(workspace).join(path));
    Trouble::new(format!(
        "{file} has changed, and its content before (git's {}) is not in this repository",
        id.get(..12).unwrap_or(id)
    ))
    .expected("a clone with the whole history, for the base of the merge")
    .next("git fetch --unshallow where the clone is shallow; else make the change in each later state by hand, remove the carried.toml of those, and run just carry again")
}

/// Has git keep the files of a folder, committed or not, so that a later merge finds its base. Outside a repository nothing happens.
pub fn keep(folder: &Path, files: &Tree) -> anyhow::Result<()> {
    let command = ["hash-object", "-w", "--no-filters", "--"].map(Path::new);
    let files = files.keys().map(PathBuf::as_path);
    git(folder, command.into_iter().chain(files))?;
    Ok(())
}

/// The content that git keeps under this id; none when the repository does not have it, or there is no repository.
fn kept(workspace: &Workspace, id: &str) -> anyhow::Result<Option<Vec<u8>>> {
    let output = git(workspace.root(), ["cat-file", "blob", id])?;
    Ok(output.status.success().then_some(output.stdout))
}

/// Runs git in this folder to its end, however that is.
pub fn git(
    folder: &Path,
    args: impl IntoIterator<Item = impl AsRef<OsStr>>,
) -> anyhow::Result<Output> {
    let mut command = Command::new("git");
    command.args(args).env("LC_ALL", "C").current_dir(folder);
    command.stdin(Stdio::null()).output().map_err(|error| {
        Trouble::new(format!("git cannot be run ({error})"))
            .expected("git on the PATH")
            .next("just doctor")
            .into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_the_one_that_git_gives() {
        // From `printf 'fn main() {}\n' | git hash-object --stdin`.
        assert_eq!(
            id(b"fn main() {}\n"),
            "f328e4d9d04c31d0d70d16d21a07d1613be9d577"
        );
    }
}
