//! Patches of whole folders: unified diffs with `a/…` and `b/…` below the folder, applied to files in memory and made
//! from them. Lines before the first file are a header and are left out.

use std::path::{Path, PathBuf};

use diffy::patch_set::{FileOperation, ParseOptions, PatchSet};
use diffy::{DiffOptions, PatchFormatter};

use crate::files::{Tree, differing};

/// Why a patch cannot be applied; the words follow the patch's name or "the patch".
#[derive(Debug, thiserror::Error)]
pub enum Misfit {
    /// The text is no patch of text files.
    #[error("is no patch of text files ({0})")]
    Malformed(String),
    /// It does more than patches here may do.
    #[error("renames files; it may only change, add and delete them")]
    Renames,
    /// It was made against other lines.
    #[error("does not fit {file} ({why})")]
    DoesNotFit {
        /// The file's path below the folder.
        file: String,
        /// Which part of the patch.
        why: String,
    },
}

/// Applies a patch to the files. Lines may have moved since it was made, their text may not have changed.
///
/// # Errors
/// When the patch is malformed or does not fit; some files are patched then and others not.
pub fn apply(tree: &mut Tree, patch: &str) -> Result<(), Misfit> {
    for file in PatchSet::parse(patch, ParseOptions::unidiff()) {
        let file = file.map_err(|error| Misfit::Malformed(error.to_string()))?;
        let hunks = file
            .patch()
            .as_text()
            .ok_or_else(|| Misfit::Malformed("it is binary".to_owned()))?;
        let operation = file.operation().strip_prefix(1);
        let (old, new) = match &operation {
            FileOperation::Create(new) => (None, Some(new.as_ref())),
            FileOperation::Delete(old) => (Some(old.as_ref()), None),
            FileOperation::Modify { original, modified } => {
                (Some(original.as_ref()), Some(modified.as_ref()))
            }
            FileOperation::Rename { .. } | FileOperation::Copy { .. } => {
                return Err(Misfit::Renames);
            }
        };
        let before = old
            .and_then(|old| tree.remove(Path::new(old)))
            .unwrap_or_default();
        let after = diffy::apply(&String::from_utf8_lossy(&before), hunks).map_err(|error| {
            Misfit::DoesNotFit {
                file: old.or(new).unwrap_or_default().to_owned(),
                why: error.to_string(),
            }
        })?;
        if let Some(new) = new {
            tree.insert(PathBuf::from(new), after.into_bytes());
        }
    }
    Ok(())
}

/// The patch that leads from one state of a folder to another; empty when they are alike.
pub fn between(before: &Tree, after: &Tree) -> String {
    let mut text = String::new();
    for path in differing(before, after) {
        let name = |side: &str, tree: &Tree| match tree.get(&path) {
            Some(_) => format!("{side}/{}", path.display()),
            None => "/dev/null".to_owned(),
        };
        let content = |tree: &Tree| {
            String::from_utf8_lossy(tree.get(&path).map_or(&[], Vec::as_slice)).into_owned()
        };
        let (old, new) = (content(before), content(after));
        let mut options = DiffOptions::new();
        options
            .set_original_filename(name("a", before))
            .set_modified_filename(name("b", after));
        let patch = options.create_patch(&old, &new);
        // Spaces before empty context lines are kept as git writes them, so that other tools read the patch too.
        let formatter = PatchFormatter::new().suppress_blank_empty(false);
        text.push_str(&formatter.fmt_patch(&patch).to_string());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> Tree {
        let file = |(path, text): &(&str, &str)| (PathBuf::from(path), text.as_bytes().to_vec());
        files.iter().map(file).collect()
    }

    #[test]
    fn a_patch_leads_from_one_state_to_the_other() {
        let before = tree(&[("kept", "a\n"), ("changed", "a\n"), ("removed", "a\n")]);
        let after = tree(&[("kept", "a\n"), ("changed", "b\n"), ("src/added", "c\n")]);
        let patch = format!("A header\n\n{}", between(&before, &after));
        let mut patched = before;
        apply(&mut patched, &patch).unwrap();
        assert_eq!(patched, after);
    }

    #[test]
    fn a_patch_that_does_not_fit_names_the_file() {
        let patch = between(&tree(&[("src/a.rs", "1\n")]), &tree(&[("src/a.rs", "2\n")]));
        let misfit = apply(&mut tree(&[("src/a.rs", "3\n")]), &patch).unwrap_err();
        assert!(
            misfit.to_string().starts_with("does not fit src/a.rs"),
            "{misfit}"
        );
    }
}
