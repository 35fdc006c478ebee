//! Patches of whole folders: unified diffs with `a/…` and `b/…` below the folder, applied to files in memory and made
//! from them. Lines before the first file are a header and are left out.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use diffy::patch_set::{FileOperation, ParseOptions, PatchSet};
use diffy::{DiffOptions, PatchFormatter};

use crate::files::{Tree, differing};

/// The files that a patch changes, as it names them.
pub fn files(patch: &str) -> impl Iterator<Item = &str> {
    patch.lines().filter_map(|line| line.strip_prefix("+++ b/"))
}

/// Applies a patch to the files. Lines may have moved since it was made, their text may not have changed.
///
/// An error follows the patch's name, or "the patch"; some files are patched then and others not.
pub fn apply(tree: &mut Tree, patch: &str) -> Result<(), String> {
    for file in PatchSet::parse(patch, ParseOptions::unidiff()) {
        let file = file.map_err(|error| format!("isn't a patch of text files ({error})"))?;
        let hunks = file.patch().as_text();
        let hunks = hunks.ok_or("isn't a patch of text files (it is binary)")?;
        let operation = file.operation().strip_prefix(1);
        let (old, new) = match &operation {
            FileOperation::Create(new) => (None, Some(new)),
            FileOperation::Delete(old) => (Some(old), None),
            FileOperation::Modify { original, modified } => (Some(original), Some(modified)),
            _ => return Err("renames files; it may only change, add and delete them".to_owned()),
        };
        let before = old.and_then(|old| tree.remove(Path::new(&**old)));
        let before = String::from_utf8(before.unwrap_or_default());
        let before = before.map_err(|_| "changes a file that isn't text".to_owned())?;
        let after = diffy::apply(&before, hunks).map_err(|error| {
            let file = old.or(new).map_or("", |file| &**file);
            format!("does not fit {file} ({error})")
        })?;
        if let Some(new) = new {
            tree.insert(PathBuf::from(&**new), after.into_bytes());
        }
    }
    Ok(())
}

/// The patch that leads from one state of a folder to another; empty when they are alike.
pub fn between(before: &Tree, after: &Tree) -> String {
    let patches = differing(before, after).into_iter().map(|path| {
        let name = |side: &str, tree: &Tree| match tree.get(&path) {
            Some(_) => format!("{side}/{}", path.display()),
            None => "/dev/null".to_owned(),
        };
        let names = [name("a", before), name("b", after)];
        difference(names, &text(before, &path), &text(after, &path))
    });
    patches.collect()
}

/// What leads from one text to another, below the names of both.
pub fn difference([old, new]: [String; 2], before: &str, after: &str) -> String {
    let mut options = DiffOptions::new();
    options
        .set_original_filename(old)
        .set_modified_filename(new);
    let patch = options.create_patch(before, after);
    // Spaces before empty context lines are kept as git writes them, so that other tools read the patch too.
    let formatter = PatchFormatter::new().suppress_blank_empty(false);
    formatter.fmt_patch(&patch).to_string()
}

/// The text without the anchor comments, which are the book's own business.
pub fn without_anchors(text: &str) -> String {
    text.lines()
        .filter(|line| !line.contains("ANCHOR:") && !line.contains("ANCHOR_END:"))
        .flat_map(|line| [line, "\n"])
        .collect()
}

/// The text of a file, empty when it isn't there.
pub fn text<'a>(tree: &'a Tree, path: &Path) -> Cow<'a, str> {
    String::from_utf8_lossy(tree.get(path).map_or(&[], Vec::as_slice))
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
        assert!(misfit.starts_with("does not fit src/a.rs"), "{misfit}");
    }
}
