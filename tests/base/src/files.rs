//! Files handled so that nothing is ever half-written: whole trees read into memory, single files replaced atomically.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use walkdir::WalkDir;

use crate::workspace::Workspace;

/// The files of a folder, by their paths relative to it.
pub type Tree = BTreeMap<PathBuf, Vec<u8>>;

/// The end of the names of files that are being written. The process id before it tells whether somebody still writes them.
const UNFINISHED: &str = "-.workshop-unfinished";

/// Reads every file below `folder`; one that does not exist has none. Left out are Cargo's `target` folder, files that were
/// being written when the tool died, and links that lead nowhere (some editors lock files with such links).
pub fn read_tree(folder: &Path) -> anyhow::Result<Tree> {
    let mut tree = Tree::new();
    if !folder.exists() {
        return Ok(tree);
    }
    let built = folder.join("target");
    let entries = WalkDir::new(folder).into_iter();
    for entry in entries.filter_entry(|entry| entry.path() != built) {
        let path = match entry {
            Ok(entry) => entry.into_path(),
            // Editors make and remove files of their own all the time.
            Err(error) if error.io_error().is_some_and(is_missing) => continue,
            Err(error) => return Err(error).with_context(|| listing(folder)),
        };
        if path.to_string_lossy().ends_with(UNFINISHED) || !path.is_file() {
            continue;
        }
        if let Some(bytes) = read_if_there(&path)? {
            tree.insert(path.strip_prefix(folder)?.to_path_buf(), bytes);
        }
    }
    Ok(tree)
}

fn listing(folder: &Path) -> String {
    format!("cannot list {}", folder.display())
}

fn is_missing(error: &std::io::Error) -> bool {
    error.kind() == ErrorKind::NotFound
}

/// The bytes of all files below a folder; a link counts as nothing.
pub fn bytes_below(folder: &Path) -> anyhow::Result<u64> {
    let mut bytes = 0;
    for entry in WalkDir::new(folder) {
        let entry = entry.with_context(|| listing(folder))?;
        if entry.file_type().is_file() {
            bytes += entry.metadata()?.len();
        }
    }
    Ok(bytes)
}

/// The content of a file, or `None` when there is no such file.
pub fn read_if_there(path: &Path) -> anyhow::Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if is_missing(&error) => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

/// The text of a file.
pub fn text(path: &Path) -> anyhow::Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

/// The paths that are in one tree only, or with another content in the other.
pub fn differing<C: PartialEq>(
    one: &BTreeMap<PathBuf, C>,
    other: &BTreeMap<PathBuf, C>,
) -> Vec<PathBuf> {
    let paths: BTreeSet<&PathBuf> = one.keys().chain(other.keys()).collect();
    paths
        .into_iter()
        .filter(|path| one.get(*path) != other.get(*path))
        .cloned()
        .collect()
}

/// Writes a file beside its place, makes it durable and moves it there: a reader of the path, also after a crash or
/// a power cut, finds the old content or the new one, nothing between. Missing folders are made.
pub fn write_atomically(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    write_by_way_of(folder, path, bytes).with_context(|| format!("cannot write {}", path.display()))
}

/// Writes the file in the folder `way` first; beside its place where that is on another file system.
fn write_by_way_of(way: &Path, path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    fs::create_dir_all(way)?;
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}{UNFINISHED}", std::process::id()));
    let unfinished = way.join(name);
    let moved = write_durably(&unfinished, bytes).and_then(|()| {
        if let Ok(old) = fs::metadata(path) {
            fs::set_permissions(&unfinished, old.permissions())?;
        }
        crash_point();
        fs::rename(&unfinished, path)
    });
    if let Err(error) = moved {
        // The error that matters is the one above.
        let _ = fs::remove_file(&unfinished);
        return match error.kind() {
            ErrorKind::CrossesDevices if way != folder => write_by_way_of(folder, path, bytes),
            _ => Err(error),
        };
    }
    sync_folder(folder);
    crash_point();
    Ok(())
}

/// Puts a file in place of the one that was read before, or removes it when there is no new content. When somebody (an editor)
/// wrote it meanwhile, it is left alone. Unfinished files are in the folder `way`.
pub fn replace(
    way: &Path,
    path: &Path,
    before: Option<&Vec<u8>>,
    after: Option<&Vec<u8>>,
) -> anyhow::Result<()> {
    anyhow::ensure!(
        read_if_there(path)?.as_ref() == before,
        "{} has changed while the tool was at work, so the tool left it alone",
        path.display()
    );
    match after {
        Some(bytes) => write_by_way_of(way, path, bytes)
            .with_context(|| format!("cannot write {}", path.display())),
        None => {
            fs::remove_file(path).with_context(|| format!("cannot remove {}", path.display()))?;
            crash_point();
            Ok(())
        }
    }
}

/// Writes a file and waits until the disk has it.
pub fn write_durably(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Removes a file, or a folder with everything in it; no error when there is none.
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

/// The bytes that are free on the disk of a folder.
// The types of these numbers differ from system to system.
#[allow(clippy::unnecessary_cast)]
pub fn free_bytes(folder: &Path) -> anyhow::Result<u64> {
    let disk = nix::sys::statvfs::statvfs(folder).with_context(|| {
        format!(
            "cannot find out how much disk space is free for {}",
            folder.display()
        )
    })?;
    Ok(disk.blocks_available() as u64 * disk.fragment_size() as u64)
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
