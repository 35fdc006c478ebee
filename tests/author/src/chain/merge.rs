//! Three-way merges of folders, file by file, by git.

use std::path::PathBuf;

use super::git::{git, set};
use workshop_base::files::{self, Tree};

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

/// Whose lines a merge leaves where the two sides disagree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leaves {
    /// Those of both, between git's markers.
    Both,
    /// Those that are there.
    Ours,
}

/// Merges the change into these files. The second part are the files in which the two disagree.
pub fn merge(ours: &Tree, change: &Change, leaves: Leaves) -> anyhow::Result<(Tree, Vec<PathBuf>)> {
    let mut merged = ours.clone();
    let mut conflicts = Vec::new();
    for path in change.touched() {
        let sides = [ours, &change.old, &change.new].map(|side| side.get(&path));
        let [mine, old, new] = sides;
        if mine == new {
            continue;
        }
        if mine == old {
            set(&mut merged, &path, new.cloned());
            continue;
        }
        let (is_clean, text) = merge_file("--diff3", sides)?;
        if is_clean || leaves == Leaves::Both {
            set(&mut merged, &path, Some(text));
        } else if mine.is_some() && new.is_some() {
            set(&mut merged, &path, Some(merge_file("--ours", sides)?.1));
        }
        if !is_clean {
            conflicts.push(path);
        }
    }
    Ok((merged, conflicts))
}

/// What the sides of a merge are called, in the order in which git wants them.
const SIDES: [&str; 3] = ["here", "before the change", "the change"];

/// Ours, the base and theirs by git; false where it left markers.
fn merge_file(how: &str, sides: [Option<&Vec<u8>>; 3]) -> anyhow::Result<(bool, Vec<u8>)> {
    let folder = tempfile::tempdir()?;
    for (name, side) in SIDES.iter().zip(sides) {
        let content = side.map_or(&[][..], Vec::as_slice);
        std::fs::write(folder.path().join(name), content)?;
    }
    let command = ["merge-file", "--stdout", how];
    let output = git(folder.path(), command.iter().chain(&SIDES))?;
    // The exit code is the number of conflicts, cut off at 127.
    match output.status.code() {
        Some(conflicts @ 0..=127) => Ok((conflicts == 0, output.stdout)),
        _ => anyhow::bail!(
            "git could not merge: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        ),
    }
}

/// The files in which git's markers are left.
pub fn unresolved(tree: &Tree) -> impl Iterator<Item = &PathBuf> {
    let is_marker = |line: &[u8]| line.starts_with(b"<<<<<<< ") || line.starts_with(b">>>>>>> ");
    let has_markers = move |content: &Vec<u8>| content.split(|byte| *byte == b'\n').any(is_marker);
    let files = tree.iter().filter(move |(_, content)| has_markers(content));
    files.map(|(path, _)| path)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

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
        let (merged, conflicts) = merge(&ours, &change, Leaves::Both)?;
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
    fn what_cannot_go_together_stays_ours_or_shows_both_sides() -> anyhow::Result<()> {
        let change = Change {
            old: tree(&[("a", "1\n"), ("gone", "1\n")]),
            new: tree(&[("a", "earlier\n"), ("gone", "2\n")]),
        };
        let ours = tree(&[("a", "later\n")]);
        let paths = [PathBuf::from("a"), PathBuf::from("gone")];
        let (merged, conflicts) = merge(&ours, &change, Leaves::Ours)?;
        assert_eq!((merged, &conflicts[..]), (ours.clone(), &paths[..]));
        assert_eq!(unresolved(&ours).count(), 0);
        let (merged, conflicts) = merge(&ours, &change, Leaves::Both)?;
        assert_eq!(conflicts, paths);
        assert!(unresolved(&merged).eq(&paths));
        assert_eq!(
            String::from_utf8_lossy(&merged[Path::new("a")]),
            "<<<<<<< here\nlater\n||||||| before the change\n1\n=======\nearlier\n>>>>>>> the change\n"
        );
        Ok(())
    }
}
