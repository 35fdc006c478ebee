//! Three-way merges of folders in memory: git's merge, file by file; and `.workshop/carry`, where the author finds what could not
//! be merged, and writes what it shall be.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::chain::record;
use workshop_base::files::{self, Tree};
use workshop_base::workspace::Workspace;

/// A change of a folder's files.
#[derive(Debug, Clone)]
pub struct Change {
    /// The files before.
    pub old: Tree,
    /// The files after.
    pub new: Tree,
}

impl Change {
    /// The files that it changes, adds or removes.
    pub fn touched(&self) -> Vec<PathBuf> {
        files::differing(&self.old, &self.new)
    }

    /// The same change, with both sides seen in another way.
    pub fn map(self, mut view: impl FnMut(Tree) -> Tree) -> Change {
        Change {
            old: view(self.old),
            new: view(self.new),
        }
    }
}

/// A file that the change and the folder disagree about.
#[derive(Debug)]
pub struct Conflict {
    /// The file, below the folder that is merged.
    pub path: PathBuf,
    /// The merged text, with both sides between git's markers where they disagree.
    pub text: Vec<u8>,
    /// Stands for the three contents that were merged: other contents, another id.
    inputs: String,
}

/// Merges the change into these files. Where the two disagree the lines of `ours` stay, and the conflict is told.
pub fn merge(ours: &Tree, change: &Change) -> anyhow::Result<(Tree, Vec<Conflict>)> {
    let mut merged = ours.clone();
    let mut conflicts = Vec::new();
    let paths: BTreeSet<&PathBuf> = change.old.keys().chain(change.new.keys()).collect();
    for path in paths {
        let (old, mine, new) = (change.old.get(path), ours.get(path), change.new.get(path));
        if new == old || new == mine {
            continue;
        }
        if mine == old {
            set(&mut merged, path, new.cloned());
            continue;
        }
        let sides = [mine, old, new].map(|side| side.map_or(&[][..], Vec::as_slice));
        let (clean, text) = merge_file("--diff3", sides)?;
        if clean {
            set(&mut merged, path, Some(text));
            continue;
        }
        if mine.is_some() && new.is_some() {
            set(&mut merged, path, Some(merge_file("--ours", sides)?.1));
        }
        conflicts.push(Conflict {
            path: path.clone(),
            text,
            inputs: record::id(sides.map(record::id).concat().as_bytes()),
        });
    }
    Ok((merged, conflicts))
}

/// Puts a file into the tree, or takes it out.
pub fn set(tree: &mut Tree, path: &Path, content: Option<Vec<u8>>) {
    match content {
        Some(content) => tree.insert(path.to_path_buf(), content),
        None => tree.remove(path),
    };
}

/// What the sides of a merge are called, in the order in which git wants them.
const SIDES: [&str; 3] = ["here", "before the change", "the change"];

/// Ours, the base and theirs by git; false where it left markers.
fn merge_file(how: &str, sides: [&[u8]; 3]) -> anyhow::Result<(bool, Vec<u8>)> {
    let folder = tempfile::tempdir()?;
    for (name, side) in SIDES.iter().zip(sides) {
        std::fs::write(folder.path().join(name), side)?;
    }
    let command = ["merge-file", "--stdout", how];
    let output = record::git(folder.path(), command.iter().chain(&SIDES))?;
    // The exit code is the number of conflicts, cut off at 127.
    match output.status.code() {
        Some(conflicts @ 0..=127) => Ok((conflicts == 0, output.stdout)),
        _ => anyhow::bail!(
            "git could not merge: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        ),
    }
}

/// Where the author decides.
pub fn desk(workspace: &Workspace) -> PathBuf {
    workspace.state().join("carry")
}

/// What has become of a conflict.
#[derive(Debug)]
pub enum Decision {
    /// The author decided: this content, or no file.
    Made(Option<Vec<u8>>),
    /// Markers are left; this is the file to edit.
    Open(PathBuf),
}

/// Looks whether a conflict about `file` (relative to the checkout) is decided, and lays it out where it is not. Other contents
/// have another folder: a decision counts for what it was made from, and nothing that somebody wrote is overwritten.
pub fn decide(workspace: &Workspace, file: &str, conflict: &Conflict) -> anyhow::Result<Decision> {
    let place = desk(workspace).join(&conflict.inputs[..8]).join(file);
    match files::read_if_there(&place)? {
        Some(content) if !has_markers(&content) => {
            return Ok(Decision::Made((!content.is_empty()).then_some(content)));
        }
        Some(_) => {}
        None => files::write_atomically(&place, &conflict.text)?,
    }
    Ok(Decision::Open(place))
}

fn has_markers(content: &[u8]) -> bool {
    let marker = |line: &str| {
        line == "======="
            || ["<<<<<<< ", "||||||| ", ">>>>>>> "]
                .iter()
                .any(|start| line.starts_with(start))
    };
    String::from_utf8_lossy(content).lines().any(marker)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> Tree {
        let file = |(path, text): &(&str, &str)| (PathBuf::from(path), text.as_bytes().to_vec());
        files.iter().map(file).collect()
    }

    #[test]
    fn changes_in_different_places_go_together() -> anyhow::Result<()> {
        let change = Change {
            old: tree(&[("a", "1\n2\n3\n4\n5\n"), ("removed", "a\n")]),
            new: tree(&[("a", "one\n2\n3\n4\n5\n"), ("added", "c\n")]),
        };
        let ours = tree(&[
            ("a", "1\n2\n3\n4\nfive\n"),
            ("own", "o\n"),
            ("removed", "a\n"),
        ]);
        let (merged, conflicts) = merge(&ours, &change)?;
        let both = tree(&[
            ("a", "one\n2\n3\n4\nfive\n"),
            ("own", "o\n"),
            ("added", "c\n"),
        ]);
        assert_eq!(merged, both);
        assert!(conflicts.is_empty());
        Ok(())
    }

    #[test]
    fn what_cannot_go_together_stays_ours_and_shows_both_sides() -> anyhow::Result<()> {
        let change = Change {
            old: tree(&[("a", "1\n"), ("gone", "1\n")]),
            new: tree(&[("a", "earlier\n"), ("gone", "2\n")]),
        };
        let ours = tree(&[("a", "later\n")]);
        let (merged, conflicts) = merge(&ours, &change)?;
        assert_eq!(merged, ours);
        let paths: Vec<_> = conflicts.iter().map(|conflict| &conflict.path).collect();
        assert_eq!(paths, [Path::new("a"), Path::new("gone")]);
        assert_eq!(
            String::from_utf8_lossy(&conflicts[0].text),
            "<<<<<<< here\nlater\n||||||| before the change\n1\n=======\nearlier\n>>>>>>> the change\n"
        );
        Ok(())
    }
}
