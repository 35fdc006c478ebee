//! Temporary files and their owners. A tool that is killed cannot remove its own files: the next command does, and so does `just
//! clean`.
//!
//! In the checkout, the owner holds a lock on the file or folder itself, which the kernel lets go of when the process ends. A
//! process id says nothing where a container and its host share a checkout. It is in the names all the same: a name tells what is
//! temporary, and not every file system has locks.

use std::ffi::OsStr;
use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use nix::errno::Errno;
use nix::sys::signal::kill;
use nix::unistd::Pid;
use tempfile::{NamedTempFile, TempDir};

use crate::files;
use crate::lock::Lock;
use crate::workspace::Workspace;

/// What the names of the folders outside the checkout begin with; the process id of their owner follows.
const PREFIX: &str = "kotlin-to-rust-workshop-";

/// A temporary folder in the checkout. It goes when it is dropped, and with the next command if its owner is killed.
#[derive(Debug)]
pub struct Folder {
    folder: TempDir,
    _held: io::Result<File>,
}

impl Folder {
    /// One in a place that is swept: `.workshop/unfinished`, `.workshop/measure`.
    pub fn below(place: &Path, what: &str) -> anyhow::Result<Folder> {
        let made = fs::create_dir_all(place).and_then(|()| {
            tempfile::Builder::new()
                .prefix(&owned(what))
                .permissions(Permissions::from_mode(0o777))
                .tempdir_in(place)
        });
        let folder =
            made.with_context(|| format!("cannot make a folder in {}", place.display()))?;
        Ok(Folder {
            _held: hold(folder.path()),
            folder,
        })
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Moves it, in one step, to a place where it stays.
    pub fn moved_to(self, place: &Path) -> io::Result<()> {
        fs::rename(self.path(), place)?;
        // It isn't temporary any more.
        let _ = self.folder.keep();
        Ok(())
    }
}

/// A folder of this process below `.workshop/unfinished`. It goes when it is dropped.
pub fn folder_in_checkout(workspace: &Workspace, what: &str) -> anyhow::Result<Folder> {
    Folder::below(&workspace.unfinished(), what)
}

/// A log of this process; it goes when it is dropped.
pub fn log(workspace: &Workspace, what: &str) -> io::Result<NamedTempFile> {
    let logs = workspace.logs();
    fs::create_dir_all(&logs)?;
    let log = tempfile::Builder::new()
        .prefix(&owned(what))
        .suffix(".log")
        .tempfile_in(&logs)?;
    let _ = log.as_file().try_lock();
    Ok(log)
}

/// The beginning of a name for something that belongs to this process: `what.1234-`.
fn owned(what: &str) -> String {
    format!("{what}.{}-", std::process::id())
}

/// Locks a file or a folder, as long as what comes out is open.
fn hold(path: &Path) -> io::Result<File> {
    let file = File::open(path)?;
    file.try_lock()?;
    Ok(file)
}

/// Removes the logs and folders that commands which were killed left below `.workshop`, and says which.
pub fn sweep_checkout(workspace: &Workspace) -> Vec<PathBuf> {
    let below = |name| workspace.state().join(name);
    let places = [
        workspace.logs(),
        workspace.unfinished(),
        below("measure"),
        below("state"),
    ];
    let left = places
        .iter()
        .flat_map(|place| entries(place))
        .filter(|path| {
            let owner = name(path).split('.').find_map(leading_id);
            owner.is_some_and(has_ended) && remove_unless_held(path)
        });
    // Copies of crates have fixed names, so that cargo knows them again; a build of one holds its lock file.
    let copies = entries(&below("copies")).filter(|path| path.is_dir());
    let copies = copies.filter(|path| {
        let lock = Lock::try_take(&path.with_added_extension("lock"));
        matches!(lock, Ok(Some(_))) && files::remove(path).is_ok()
    });
    left.chain(copies).collect()
}

/// Removes something temporary unless a process, of this system or of a container, still holds it.
fn remove_unless_held(path: &Path) -> bool {
    // Nobody takes it while it is removed.
    let held = hold(path);
    let is_held = held
        .as_ref()
        .is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
    !is_held && files::remove(path).is_ok()
}

/// A folder of this process outside the checkout, where other users' processes get at it; it goes when it is dropped.
pub fn folder() -> anyhow::Result<TempDir> {
    sweep();
    folder_in(&std::env::temp_dir(), std::process::id())
}

/// Removes the folders of processes that have ended, and says which.
pub fn sweep() -> Vec<PathBuf> {
    sweep_in(&std::env::temp_dir())
}

fn folder_in(place: &Path, owner: u32) -> anyhow::Result<TempDir> {
    tempfile::Builder::new()
        .prefix(&format!("{PREFIX}{owner}-"))
        .tempdir_in(place)
        .context("no folder for temporary files")
}

fn sweep_in(place: &Path) -> Vec<PathBuf> {
    let is_left = |path: &PathBuf| {
        let owner = name(path).strip_prefix(PREFIX).and_then(leading_id);
        owner.is_some_and(has_ended) && path.is_dir() && !path.is_symlink()
    };
    // Another user's folder stays: it is not ours to remove.
    entries(place)
        .filter(is_left)
        .filter(|path| fs::remove_dir_all(path).is_ok())
        .collect()
}

/// What is in a folder; nothing where there is none.
fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path())
}

fn name(path: &Path) -> &str {
    path.file_name().and_then(OsStr::to_str).unwrap_or_default()
}

/// The process id that a part of a name begins with: `1234-0`.
fn leading_id(part: &str) -> Option<i32> {
    part.split_once('-')?.0.parse().ok()
}

fn has_ended(process: i32) -> bool {
    kill(Pid::from_raw(process), None) == Err(Errno::ESRCH)
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};
    use std::process::Command;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    use super::{folder_in, folder_in_checkout, log, sweep_checkout, sweep_in};
    use crate::lock::Lock;
    use crate::workspace::Workspace;

    #[test]
    fn a_copy_that_somebody_builds_stays_and_a_killed_ones_goes() -> anyhow::Result<()> {
        let checkout = tempfile::tempdir()?;
        let workspace = Workspace::at(checkout.path());
        let copies = workspace.state().join("copies");
        for package in ["left-behind", "in-use"] {
            std::fs::create_dir_all(copies.join(package).join("src"))?;
        }
        let _turn = Lock::try_take(&copies.join("in-use.lock"))?;
        assert_eq!(sweep_checkout(&workspace), [copies.join("left-behind")]);
        assert!(copies.join("in-use").exists());
        assert!(!copies.join("in-use.lock.lock").exists());
        Ok(())
    }

    #[test]
    fn a_copy_that_somebody_is_just_taking_stays() -> anyhow::Result<()> {
        let checkout = tempfile::tempdir()?;
        let workspace = Workspace::at(checkout.path());
        let copy = workspace.state().join("copies/copy");
        let done = AtomicBool::new(false);
        let lost = std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    sweep_checkout(&workspace);
                }
            });
            let lost = (0..300).try_fold(0, |lost, _| {
                let _turn = Lock::take_blocking(&copy.with_added_extension("lock"), "sweeps")?;
                std::fs::create_dir_all(&copy)?;
                std::thread::sleep(Duration::from_micros(100));
                anyhow::Ok(lost + usize::from(!copy.exists()))
            });
            done.store(true, Ordering::Relaxed);
            lost
        });
        assert_eq!(lost?, 0);
        Ok(())
    }

    #[test]
    fn a_command_in_a_container_keeps_its_log_and_its_folder() -> anyhow::Result<()> {
        let checkout = tempfile::tempdir()?;
        let workspace = Workspace::at(checkout.path());
        let folder = folder_in_checkout(&workspace, "kit")?;
        let log = log(&workspace, "exercise-3")?;
        // As this process is seen from another namespace: there is none with the id.
        let mut ended = Command::new("true").spawn()?;
        ended.wait()?;
        let seen = |path: &Path| -> anyhow::Result<PathBuf> {
            let (ours, theirs) = (std::process::id().to_string(), ended.id().to_string());
            let seen = PathBuf::from(path.display().to_string().replace(&ours, &theirs));
            std::fs::rename(path, &seen)?;
            Ok(seen)
        };
        let seen = [seen(folder.path())?, seen(log.path())?];
        assert_eq!(sweep_checkout(&workspace), Vec::<PathBuf>::new());
        drop((folder, log));
        let mut swept = sweep_checkout(&workspace);
        swept.sort_by_key(|path| path.to_string_lossy().contains("logs"));
        assert_eq!(swept, seen);
        Ok(())
    }

    #[test]
    fn a_living_command_keeps_its_log_and_its_folder() -> anyhow::Result<()> {
        let checkout = tempfile::tempdir()?;
        let workspace = Workspace::at(checkout.path());
        let mut ended = Command::new("true").spawn()?;
        ended.wait()?;
        let paths = |pid: u32| {
            let measure = workspace.state().join(format!("measure/run.{pid}-a1"));
            (
                workspace.logs().join(format!("exercise-3.{pid}-0.log")),
                measure,
            )
        };
        for (log, folder) in [paths(ended.id()), paths(std::process::id())] {
            std::fs::create_dir_all(workspace.logs())?;
            std::fs::write(log, "")?;
            std::fs::create_dir_all(folder.join("oha"))?;
        }
        let (log, folder) = paths(ended.id());
        assert_eq!(sweep_checkout(&workspace), [log.clone(), folder.clone()]);
        assert!(!log.exists() && !folder.exists());
        let (log, folder) = paths(std::process::id());
        assert!(log.exists() && folder.exists());
        Ok(())
    }

    #[test]
    fn only_the_folders_of_ended_processes_go() -> anyhow::Result<()> {
        let place = tempfile::tempdir()?;
        let mut ended = Command::new("true").spawn()?;
        ended.wait()?;
        let left = folder_in(place.path(), ended.id())?.keep();
        std::fs::write(left.join("error.log"), "")?;
        let ours = folder_in(place.path(), std::process::id())?;
        let foreign = place.path().join("somebody-else");
        std::fs::create_dir(&foreign)?;

        assert_eq!(sweep_in(place.path()), std::slice::from_ref(&left));
        assert!(!left.exists());
        assert!(ours.path().exists() && foreign.exists());
        Ok(())
    }
}
