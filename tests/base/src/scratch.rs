//! Temporary files and their owners. A tool that is killed cannot remove its own files, so their names hold its process id, and
//! the next command removes what belongs to processes that have ended; so does `just clean`.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use nix::errno::Errno;
use nix::sys::signal::kill;
use nix::unistd::Pid;
use tempfile::TempDir;

use crate::files;
use crate::lock::Lock;
use crate::workspace::Workspace;

/// What the names of these folders begin with; the process id of their owner follows.
const PREFIX: &str = "kotlin-to-rust-workshop-";

/// The beginning of a name below `.workshop` for something that belongs to this process: `what.1234-`. Whatever has such a name
/// in `.workshop/logs`, `.workshop/measure` or `.workshop/unfinished` is removed once the process has ended.
pub fn owned(what: &str) -> String {
    format!("{what}.{}-", std::process::id())
}

/// A folder of this process below `.workshop/unfinished`. It goes when it is dropped.
pub fn folder_in_checkout(workspace: &Workspace, what: &str) -> anyhow::Result<TempDir> {
    let unfinished = workspace.unfinished();
    fs::create_dir_all(&unfinished)
        .and_then(|()| TempDir::with_prefix_in(owned(what), &unfinished))
        .with_context(|| format!("cannot make a folder in {}", unfinished.display()))
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
    let is_left = |path: &PathBuf| {
        name(path)
            .split('.')
            .find_map(leading_id)
            .is_some_and(has_ended)
    };
    let left = places
        .iter()
        .flat_map(|place| entries(place))
        .filter(is_left);
    // Copies of crates have fixed names, so that cargo knows them again; a build of one holds its lock file.
    let is_built = |path: &PathBuf| {
        let lock = Lock::try_take(&path.with_added_extension("lock"));
        !matches!(lock, Ok(Some(_)))
    };
    let copies = entries(&below("copies")).filter(|path| path.is_dir() && !is_built(path));
    left.chain(copies)
        .filter(|path| files::remove(path).is_ok())
        .collect()
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
    use std::process::Command;

    use super::{folder_in, sweep_checkout, sweep_in};
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
