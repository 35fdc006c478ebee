//! Three-way merges of whole folders in memory: git's merge, file by file, with files that were added and removed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::chain::git;

use crate::chain::git::Merged;

use crate::chain::git::Side;
use workshop_base::files::Tree;

/// A folder's files, and the name under which a conflict shows them.
#[derive(Debug, Clone, Copy)]
pub struct Version<'a> {
    /// The files.
    pub files: &'a Tree,
    /// Whose they are, for people.
    pub name: &'a str,
}

/// A file that two changes disagree about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The file, below the folder that is merged.
    pub path: PathBuf,
    /// The merged text, with both sides between markers where they disagree.
    pub text: Vec<u8>,
    /// The merged text with the lines of `ours` where they disagree; none where `ours` has no such file.
    pub keeping_ours: Option<Vec<u8>>,
    /// Stands for the three contents that were merged: other contents, another id.
    pub inputs: String,
}

/// Merges the change that leads from `base` to `theirs` into `ours`. A file with a conflict stays as it is in `ours`.
///
/// # Errors
/// When git cannot be run, or a file that both sides changed is no text.
pub fn folders(
    ours: Version,
    base: &Tree,
    theirs: Version,
) -> anyhow::Result<(Tree, Vec<Conflict>)> {
    let mut merged = ours.files.clone();
    let mut conflicts = Vec::new();
    let paths: BTreeSet<&PathBuf> = base.keys().chain(theirs.files.keys()).collect();
    for path in paths {
        let (old, mine, new) = (base.get(path), ours.files.get(path), theirs.files.get(path));
        if new == old || new == mine {
            continue;
        }
        if mine == old {
            set(&mut merged, path, new.cloned());
            continue;
        }
        let mine_side = side(mine, ours.name);
        let old_side = side(old, "before the change");
        let new_side = side(new, theirs.name);
        match git::merge_file(mine_side, old_side, new_side)? {
            Merged::Clean(content) => set(&mut merged, path, Some(content)),
            Merged::Conflict(text) => conflicts.push(Conflict {
                path: path.clone(),
                text,
                keeping_ours: if mine.is_none() || new.is_none() {
                    mine.cloned()
                } else {
                    Some(git::merge_file_keeping_ours(mine_side, old_side, new_side)?)
                },
                inputs: [mine_side, old_side, new_side]
                    .map(|side| git::id(side.content))
                    .join(" "),
            }),
        }
    }
    Ok((merged, conflicts))
}

fn side<'a>(content: Option<&'a Vec<u8>>, name: &'a str) -> Side<'a> {
    Side {
        content: content.map_or(&[], Vec::as_slice),
        name,
    }
}

/// Puts a file into the tree, or takes it out.
pub fn set(tree: &mut Tree, path: &Path, content: Option<Vec<u8>>) {
    match content {
        Some(content) => tree.insert(path.to_path_buf(), content),
        None => tree.remove(path),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> Tree {
        let file = |(path, text): &(&str, &str)| (PathBuf::from(path), text.as_bytes().to_vec());
        files.iter().map(file).collect()
    }

    fn merged(ours: &Tree, base: &Tree, theirs: &Tree) -> (Tree, Vec<Conflict>) {
        let version = |files, name| Version { files, name };
        folders(version(ours, "later"), base, version(theirs, "earlier")).unwrap()
    }

    #[test]
    fn changes_in_different_places_go_together() {
        let base = tree(&[("a", "1\n2\n3\n4\n5\n")]);
        let ours = tree(&[("a", "1\n2\n3\n4\nfive\n"), ("own", "o\n")]);
        let theirs = tree(&[("a", "one\n2\n3\n4\n5\n")]);
        let (merged, conflicts) = merged(&ours, &base, &theirs);
        assert_eq!(
            merged,
            tree(&[("a", "one\n2\n3\n4\nfive\n"), ("own", "o\n")])
        );
        assert_eq!(conflicts, []);
    }

    #[test]
    fn files_are_added_and_removed() {
        let base = tree(&[("removed", "a\n"), ("kept", "b\n")]);
        let theirs = tree(&[("added", "c\n"), ("kept", "b\n")]);
        let (merged, conflicts) = merged(&base, &base, &theirs);
        assert_eq!(merged, theirs);
        assert_eq!(conflicts, []);
    }

    #[test]
    fn what_cannot_go_together_stays_ours_and_shows_both_sides() {
        let base = tree(&[("a", "1\n"), ("gone", "1\n")]);
        let ours = tree(&[("a", "later\n")]);
        let theirs = tree(&[("a", "earlier\n"), ("gone", "2\n")]);
        let (merged, conflicts) = merged(&ours, &base, &theirs);
        assert_eq!(merged, ours);
        let paths: Vec<_> = conflicts.iter().map(|conflict| &conflict.path).collect();
        assert_eq!(paths, [Path::new("a"), Path::new("gone")]);
        assert_eq!(
            String::from_utf8_lossy(&conflicts[0].text),
            "<<<<<<< later\nlater\n||||||| before the change\n1\n=======\nearlier\n>>>>>>> earlier\n"
        );
    }
}
