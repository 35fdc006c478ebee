//! Files handled so that nothing is ever half-written: whole trees read into memory, single files replaced atomically.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::workspace::Workspace;

/// The files of a folder, by their paths relative to it.
pub type Tree = BTreeMap<PathBuf, Vec<u8>>;

/// The end of the names of files that are being written.
const UNFINISHED: &str = ".workshop-unfinished";

/// Reads every file below `folder`. Left out are Cargo's `target` folder, files that were being written when the tool
/// died, and links that lead nowhere (some editors lock files with such links).
///
/// # Errors
/// When a folder or a file cannot be read. A folder that does not exist has no files.
pub fn read_tree(folder: &Path) -> anyhow::Result<Tree> {
    let mut tree = Tree::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(relative) = folders.pop() {
        let here = folder.join(&relative);
        let entries = match fs::read_dir(&here) {
            Ok(entries) => entries,
            Err(error)
                if error.kind() == ErrorKind::NotFound && relative.as_os_str().is_empty() =>
            {
                break;
            }
            Err(error) => {
                return Err(error).with_context(|| format!("cannot list {}", here.display()));
            }
        };
        for entry in entries {
            let entry = entry.with_context(|| format!("cannot list {}", here.display()))?;
            let name = relative.join(entry.file_name());
            let kind = entry
                .file_type()
                .with_context(|| format!("cannot look at {}", entry.path().display()))?;
            if kind.is_dir() {
                if name != Path::new("target") {
                    folders.push(name);
                }
            } else if !is_unfinished(&name) && entry.path().is_file() {
                match fs::read(entry.path()) {
                    Ok(bytes) => {
                        tree.insert(name, bytes);
                    }
                    // Editors make and remove files of their own all the time.
                    Err(error) if error.kind() == ErrorKind::NotFound => {}
                    Err(error) => {
                        return Err(error)
                            .with_context(|| format!("cannot read {}", entry.path().display()));
                    }
                }
            }
        }
    }
    Ok(tree)
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

fn is_unfinished(path: &Path) -> bool {
    path.to_string_lossy().ends_with(UNFINISHED)
}

/// Writes a file beside its place, makes it durable and moves it there: whoever reads the path, also after a crash or
/// a power cut, finds the old content or the new one, nothing between. Missing folders are made.
///
/// # Errors
/// When the disk refuses; the old content is in place then.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let context = || format!("cannot write {}", path.display());
    let folder = path.parent().with_context(context)?;
    fs::create_dir_all(folder).with_context(context)?;
    let mut name = path.file_name().with_context(context)?.to_owned();
    name.push(format!(".{}{UNFINISHED}", std::process::id()));
    let unfinished = folder.join(name);
    let written = write_durably(&unfinished, bytes).and_then(|()| {
        if let Ok(old) = fs::metadata(path) {
            fs::set_permissions(&unfinished, old.permissions())?;
        }
        crash_point();
        fs::rename(&unfinished, path)
    });
    if written.is_err() {
        // The error that matters is the one above.
        let _ = fs::remove_file(&unfinished);
    }
    written.with_context(context)?;
    sync_folder(folder);
    crash_point();
    Ok(())
}

/// Puts a file in place of the one that was read before, or removes it when there is no new content.
///
/// # Errors
/// When somebody (an editor) wrote the file meanwhile, or the disk refuses; the file is left alone then.
pub fn replace(
    path: &Path,
    before: Option<&Vec<u8>>,
    after: Option<&Vec<u8>>,
) -> anyhow::Result<()> {
    let now = match fs::read(path) {
        Ok(bytes) => Some(bytes),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => {
            return Err(error).with_context(|| format!("cannot read {}", path.display()));
        }
    };
    anyhow::ensure!(
        now.as_ref() == before,
        "{} was written by somebody else meanwhile and was left alone",
        path.display()
    );
    match after {
        Some(bytes) => write_atomically(path, bytes)?,
        None => {
            fs::remove_file(path).with_context(|| format!("cannot remove {}", path.display()))?;
            crash_point();
        }
    }
    Ok(())
}

/// Writes a file and waits until the disk has it.
///
/// # Errors
/// When the disk refuses.
pub fn write_durably(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Removes a file, or a folder with all that is in it; no error when there is none.
pub fn remove(path: &Path) -> anyhow::Result<()> {
    let removed = match fs::symlink_metadata(path) {
        Ok(data) if data.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", path.display()))
        }
        _ => Ok(()),
    }
}

/// Waits until the disk has the names in a folder. Best effort: not every file system can.
pub fn sync_folder(folder: &Path) {
    if let Ok(folder) = File::open(folder) {
        let _ = folder.sync_all();
    }
}

/// The path as people type it: relative to the checkout where it lies in it.
pub fn shown(workspace: &Workspace, path: &Path) -> String {
    path.strip_prefix(workspace.root())
        .unwrap_or(path)
        .display()
        .to_string()
}

/// A place where a crash would hurt. Tests of a debug build set `WORKSHOP_CRASH_AT=n` and the process dies at the n-th
/// such place that it passes; otherwise nothing happens.
pub fn crash_point() {
    #[cfg(debug_assertions)]
    {
        use std::sync::atomic::{AtomicU32, Ordering};
        static PASSED: AtomicU32 = AtomicU32::new(0);
        let passed = PASSED.fetch_add(1, Ordering::Relaxed) + 1;
        let wanted = std::env::var("WORKSHOP_CRASH_AT")
            .ok()
            .and_then(|number| number.parse::<u32>().ok());
        if wanted == Some(passed) {
            std::process::abort();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_and_nothing_else_is_left() -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("new/file.txt");
        write_atomically(&path, b"one")?;
        write_atomically(&path, b"two")?;
        assert_eq!(
            read_tree(folder.path())?,
            Tree::from([(PathBuf::from("new/file.txt"), b"two".to_vec())])
        );
        assert_eq!(fs::read_dir(folder.path().join("new"))?.count(), 1);
        Ok(())
    }

    #[test]
    fn built_things_are_no_part_of_a_tree() -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        fs::create_dir_all(folder.path().join("target/debug"))?;
        fs::write(folder.path().join("target/debug/binary"), "")?;
        fs::create_dir_all(folder.path().join("src/target"))?;
        fs::write(folder.path().join("src/target/mod.rs"), "")?;
        let tree = read_tree(folder.path())?;
        assert_eq!(
            tree.into_keys().collect::<Vec<_>>(),
            [PathBuf::from("src/target/mod.rs")]
        );
        Ok(())
    }
}
