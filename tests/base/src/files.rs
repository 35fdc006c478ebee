//! Files handled so that nothing is ever half-written: whole trees read into memory, single files replaced atomically.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use walkdir::WalkDir;

use crate::outcome::Trouble;
use crate::workspace::Workspace;

/// The files of a folder, by their paths relative to it.
pub type Tree = BTreeMap<PathBuf, Vec<u8>>;

/// The end of the names of files that are being written. The process id before it tells whether somebody still writes them.
const UNFINISHED: &str = "-.workshop-unfinished";

/// Reads every file below `folder`; one that does not exist has none. Left out are Cargo's `target` folders, git's
/// own, files that were being written when the tool died, and links that lead nowhere (some editors lock files with such links).
pub fn read_tree(folder: &Path) -> anyhow::Result<Tree> {
    let mut tree = Tree::new();
    if !folder.exists() {
        return Ok(tree);
    }
    let entries = WalkDir::new(folder).into_iter();
    for entry in entries.filter_entry(|entry| !is_made(folder, entry.path())) {
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

/// True for what nobody has written: Cargo's `target`, beside any manifest below `folder`, and what git keeps.
fn is_made(folder: &Path, path: &Path) -> bool {
    let is_targets = path.ends_with("target")
        && (path.parent() == Some(folder) || path.join("CACHEDIR.TAG").is_file());
    is_targets || path.ends_with(".git")
}

fn listing(folder: &Path) -> String {
    format!("cannot list {}", folder.display())
}

fn is_missing(error: &io::Error) -> bool {
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
    look(path).with_context(|| format!("cannot read {}", path.display()))
}

/// The text of a file.
pub fn text(path: &Path) -> anyhow::Result<String> {
    let shown = path.display();
    fs::read_to_string(path).map_err(|error| match error.kind() {
        ErrorKind::InvalidData => Trouble::new(format!("{shown} isn't UTF-8"))
            .expected("text in UTF-8; PowerShell and some editors write UTF-16")
            .next(format!("save {shown} as UTF-8"))
            .into(),
        _ => anyhow::Error::from(error).context(format!("cannot read {shown}")),
    })
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
    let put = |unfinished: &Path| fs::rename(unfinished, path).map(|()| true);
    write_by_way_of(folder, path, bytes, &put)
        .with_context(|| format!("cannot write {}", path.display()))?;
    Ok(())
}

/// As [`write_atomically`], a file that only its owner can read, from its first byte on.
pub fn write_privately(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let unfinished = folder.join(unfinished_name(path));
    let written = fs::create_dir_all(folder).and_then(|()| {
        let mut options = File::options();
        let mut file = options
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&unfinished)?;
        file.write_all(bytes)?;
        fs::rename(&unfinished, path)
    });
    // Moved away, or of no use any more.
    let _ = fs::remove_file(&unfinished);
    written.with_context(|| format!("cannot write {}", path.display()))
}

/// Writes the file in the folder `way` first, beside its place where that is on another file system, and has it put in its place.
/// Gives what `put` gives: whether it is there.
fn write_by_way_of(
    way: &Path,
    path: &Path,
    bytes: &[u8],
    put: &dyn Fn(&Path) -> io::Result<bool>,
) -> io::Result<bool> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    fs::create_dir_all(way)?;
    let unfinished = way.join(unfinished_name(path));
    let moved = write_and_hold(&unfinished, bytes).and_then(|_held| {
        if let Ok(old) = fs::metadata(path) {
            fs::set_permissions(&unfinished, old.permissions())?;
        }
        crash_point();
        put(&unfinished)
    });
    // Moved away, or of no use any more.
    let _ = fs::remove_file(&unfinished);
    match moved {
        Err(error) if error.kind() == ErrorKind::CrossesDevices && way != folder => {
            write_by_way_of(folder, path, bytes, put)
        }
        Ok(true) => {
            sync_folder(folder);
            crash_point();
            Ok(true)
        }
        other => other,
    }
}

fn unfinished_name(path: &Path) -> OsString {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}{UNFINISHED}", std::process::id()));
    name
}

/// Puts a file in place of the one that was read before, or removes it when there is no new content. When somebody (an editor)
/// wrote it meanwhile, be it in the last moment, it is left alone. Unfinished files are in the folder `way`.
pub fn replace(
    way: &Path,
    path: &Path,
    before: Option<&Vec<u8>>,
    after: Option<&Vec<u8>>,
) -> anyhow::Result<()> {
    let is_replaced = if read_if_there(path)?.as_ref() != before {
        false
    } else if let Some(bytes) = after {
        let put = |unfinished: &Path| put(unfinished, path, before, bytes);
        write_by_way_of(way, path, bytes, &put)
            .with_context(|| format!("cannot write {}", path.display()))?
    } else {
        take_away(way, path, before).with_context(|| format!("cannot remove {}", path.display()))?
    };
    anyhow::ensure!(
        is_replaced,
        "{} has changed while the tool was at work, so the tool left it alone",
        path.display()
    );
    crash_point();
    Ok(())
}

/// Moves the file `new`, which holds `bytes`, to `path`; false, and nothing is changed, where there is something else than `before`.
fn put(new: &Path, path: &Path, before: Option<&Vec<u8>>, bytes: &[u8]) -> io::Result<bool> {
    let moved = match before {
        // A link may lead elsewhere from another folder.
        Some(_) if path.is_symlink() => Err(ErrorKind::Unsupported.into()),
        Some(_) => exchange(new, path),
        None => move_to_nothing(new, path),
    };
    match moved {
        Ok(()) => {}
        // Somebody has just removed it, or made it.
        Err(error) if is_missing(&error) || error.kind() == ErrorKind::AlreadyExists => {
            return Ok(false);
        }
        // Not every system can do either: then a save in the microseconds between the two is overwritten.
        Err(error) if is_beyond_it(&error) => {
            let is_as_before = look(path)?.as_ref() == before;
            return match is_as_before {
                true => fs::rename(new, path).map(|()| true),
                false => Ok(false),
            };
        }
        Err(error) => return Err(error),
    }
    let (Some(before), came_out) = (before, look(new)?) else {
        return Ok(true);
    };
    if came_out.as_ref() == Some(before) {
        return Ok(true);
    }
    // Theirs goes back. What comes out now is ours, or was saved since: then that is the newest.
    exchange(new, path)?;
    if look(new)?.as_deref() != Some(bytes) {
        exchange(new, path)?;
    }
    Ok(false)
}

/// Removes a file by way of a folder; false, and it is back in its place, where it holds something else than `before`.
fn take_away(way: &Path, path: &Path, before: Option<&Vec<u8>>) -> io::Result<bool> {
    if path.is_symlink() {
        return fs::remove_file(path).map(|()| true);
    }
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(way)?;
    let aside = way.join(unfinished_name(path));
    match fs::rename(path, &aside) {
        Err(error) if error.kind() == ErrorKind::CrossesDevices && way != folder => {
            return take_away(folder, path, before);
        }
        moved => moved?,
    }
    crash_point();
    if look(&aside)?.as_ref() == before {
        return fs::remove_file(&aside).map(|()| true);
    }
    match move_to_nothing(&aside, path) {
        Err(error) if is_beyond_it(&error) => fs::rename(&aside, path)?,
        // Saved again meanwhile.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => fs::remove_file(&aside)?,
        moved => moved?,
    }
    Ok(false)
}

fn look(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if is_missing(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

/// True where the system or the file system cannot do what was asked of it.
fn is_beyond_it(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Unsupported | ErrorKind::InvalidInput
    )
}

/// Exchanges two files in one step.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn exchange(one: &Path, other: &Path) -> io::Result<()> {
    rename_with(one, other, nix::fcntl::RenameFlags::RENAME_EXCHANGE)
}

/// Moves a file to where there is none.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn move_to_nothing(from: &Path, to: &Path) -> io::Result<()> {
    rename_with(from, to, nix::fcntl::RenameFlags::RENAME_NOREPLACE)
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn rename_with(from: &Path, to: &Path, how: nix::fcntl::RenameFlags) -> io::Result<()> {
    use nix::fcntl::{AT_FDCWD, renameat2};
    Ok(renameat2(AT_FDCWD, from, AT_FDCWD, to, how)?)
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn exchange(_one: &Path, _other: &Path) -> io::Result<()> {
    Err(ErrorKind::Unsupported.into())
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn move_to_nothing(_from: &Path, _to: &Path) -> io::Result<()> {
    Err(ErrorKind::Unsupported.into())
}

/// Writes a file that is worth nothing after a crash, such as one of a copy. Missing folders are made.
pub fn write(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(path, bytes))
        .with_context(|| format!("cannot write {}", path.display()))
}

/// Writes a file and waits until the disk has it.
pub fn write_durably(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_and_hold(path, bytes).map(drop)
}

/// As [`write_durably`], with a lock on the file as long as what comes out is open: nobody sweeps it away, be it from a container.
fn write_and_hold(path: &Path, bytes: &[u8]) -> io::Result<File> {
    let mut file = File::create(path)?;
    // Not every file system has locks.
    let _ = file.try_lock();
    file.write_all(bytes)?;
    file.sync_all()?;
    Ok(file)
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

/// The path as people type it, and as editors open it: relative to where the reader is in the checkout, else to its root.
pub fn shown(workspace: &Workspace, path: &Path) -> String {
    let from = std::env::var_os(CALLED_FROM).map(PathBuf::from);
    shown_from(&from.unwrap_or_default(), workspace, path)
}

fn shown_from(from: &Path, workspace: &Workspace, path: &Path) -> String {
    let Ok(path) = path.strip_prefix(workspace.root()) else {
        return path.display().to_string();
    };
    let here = from.strip_prefix(workspace.root()).unwrap_or(Path::new(""));
    let shared = here
        .iter()
        .zip(path)
        .take_while(|(one, other)| one == other);
    let shared = shared.count();
    let up = here.iter().skip(shared).map(|_| OsStr::new(".."));
    let relative: PathBuf = up.chain(path.iter().skip(shared)).collect();
    match relative.as_os_str().is_empty() {
        true => ".".to_owned(),
        false => relative.display().to_string(),
    }
}

/// The variable in which recipes and `justw` say where they were called.
const CALLED_FROM: &str = "WORKSHOP_CALLED_FROM";

/// A path as it was meant where just was called: recipes run in the checkout, and say where that was.
pub fn as_called(path: &Path) -> PathBuf {
    let from = std::env::var_os(CALLED_FROM);
    from.map_or_else(|| path.to_owned(), |from| Path::new(&from).join(path))
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
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

    #[test]
    fn a_path_is_shown_as_it_opens_where_the_reader_is() {
        let workspace = Workspace::at("/course");
        let shown =
            |from: &str, path: &str| shown_from(Path::new(from), &workspace, Path::new(path));
        let main = "/course/exercises/03-read/src/main.rs";
        assert_eq!(shown("/course/exercises/03-read", main), "src/main.rs");
        let kept = "/course/.workshop/attempts";
        assert_eq!(shown("/course/exercises", kept), "../.workshop/attempts");
        // Elsewhere it is the one that is right in the checkout.
        assert_eq!(shown("/home", kept), ".workshop/attempts");
        assert_eq!(shown("/course/exercises", "/course/exercises"), ".");
        assert_eq!(shown("/course", "/etc/hosts"), "/etc/hosts");
    }

    #[test]
    fn a_text_in_another_encoding_is_told_with_what_to_do() -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("predictions.toml");
        let utf_16 = "\u{feff}ratio = 1"
            .encode_utf16()
            .flat_map(u16::to_le_bytes);
        fs::write(&path, utf_16.collect::<Vec<_>>())?;
        let error = text(&path).expect_err("no UTF-8").to_string();
        assert!(error.contains("predictions.toml isn't UTF-8"), "{error}");
        assert!(error.contains("next: save"), "{error}");
        Ok(())
    }

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
    fn what_is_private_is_its_owners_alone_also_where_it_was_not_before() -> anyhow::Result<()> {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("new/debug.env");
        write(&path, b"before")?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644))?;
        write_privately(&path, b"DATABASE_URL=postgres://ada:secret@db/course")?;
        assert_eq!(fs::metadata(&path)?.permissions().mode() & 0o777, 0o600);
        assert!(text(&path)?.ends_with("/course"));
        assert_eq!(fs::read_dir(folder.path().join("new"))?.count(), 1);
        Ok(())
    }

    #[test]
    fn an_edit_that_is_saved_while_a_file_is_replaced_is_never_lost() -> anyhow::Result<()> {
        // As large as that, writing and syncing it takes longer than the editor's save.
        let after = vec![b'x'; 32 << 20];
        for after in [Some(&after), None] {
            for saves in [save_in_place, save_by_renaming] {
                let folder = tempfile::tempdir()?;
                let (way, path) = (folder.path().join("way"), folder.path().join("main.rs"));
                let before = b"before".to_vec();
                fs::write(&path, &before)?;
                fs::create_dir(&way)?;
                let is_over = AtomicBool::new(after.is_none());
                let edited = std::thread::scope(|scope| {
                    let editor = scope.spawn(|| {
                        // The tool is at work, or on a busy machine it has been: it writes, or it has just removed the file.
                        while !is_over.load(Relaxed) && fs::read_dir(&way)?.next().is_none() {
                            std::hint::spin_loop();
                        }
                        saves(&path)
                    });
                    let _ = replace(&way, &path, Some(&before), after);
                    is_over.store(true, Relaxed);
                    editor.join()
                });
                edited.expect("an editor that ends")?;
                assert!(fs::read(&path)? == b"edited", "the edit is gone");
                assert_eq!(fs::read_dir(&way)?.count(), 0);
            }
        }
        Ok(())
    }

    fn save_in_place(path: &Path) -> io::Result<()> {
        fs::write(path, "edited")
    }

    fn save_by_renaming(path: &Path) -> io::Result<()> {
        let aside = path.with_extension("editor");
        fs::write(&aside, "edited")?;
        fs::rename(&aside, path)
    }

    #[test]
    fn a_link_is_replaced_or_removed_and_not_what_it_leads_to() -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let (way, path) = (folder.path().join("way"), folder.path().join("main.rs"));
        let before = b"before".to_vec();
        fs::write(folder.path().join("elsewhere.rs"), &before)?;
        for after in [Some(b"after".to_vec()), None] {
            let _ = fs::remove_file(&path);
            std::os::unix::fs::symlink("elsewhere.rs", &path)?;
            replace(&way, &path, Some(&before), after.as_ref())?;
            assert_eq!(read_if_there(&path)?, after);
        }
        assert_eq!(fs::read(folder.path().join("elsewhere.rs"))?, before);
        Ok(())
    }

    #[test]
    fn what_a_file_system_cannot_do_is_told_from_what_went_wrong() {
        use nix::errno::Errno;
        for errno in [Errno::EINVAL, Errno::ENOSYS, Errno::EOPNOTSUPP] {
            assert!(is_beyond_it(&errno.into()), "{errno}");
        }
        assert!(!is_beyond_it(&Errno::ENOSPC.into()));
    }

    #[test]
    fn a_file_that_is_new_replaces_none_that_somebody_has_just_made() -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let (new, path) = (folder.path().join("new"), folder.path().join("path"));
        fs::write(&new, "ours")?;
        fs::write(&path, "theirs")?;
        assert!(!put(&new, &path, None, b"ours")?);
        assert_eq!(fs::read(&path)?, b"theirs");
        Ok(())
    }

    #[test]
    fn built_things_are_no_part_of_a_tree() -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        fs::create_dir_all(folder.path().join("target/debug"))?;
        fs::write(folder.path().join("target/debug/binary"), "")?;
        fs::create_dir_all(folder.path().join("src/target"))?;
        fs::write(folder.path().join("src/target/mod.rs"), "")?;
        for made in ["reports/target/CACHEDIR.TAG", ".git/HEAD"] {
            fs::create_dir_all(folder.path().join(made).parent().unwrap_or(folder.path()))?;
            fs::write(folder.path().join(made), "")?;
        }
        let tree = read_tree(folder.path())?;
        assert_eq!(
            tree.into_keys().collect::<Vec<_>>(),
            [PathBuf::from("src/target/mod.rs")]
        );
        Ok(())
    }
}
