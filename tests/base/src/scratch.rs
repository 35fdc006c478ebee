//! Temporary files and their owners. A tool that is killed cannot remove its own files, so their names hold its process id, and
//! the next command removes what belongs to processes that have ended; so does `just clean`.

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

/// Removes the logs and folders that commands which were killed left below `.workshop`, and says which.
pub fn sweep_checkout(workspace: &Workspace) -> Vec<PathBuf> {
    let below = |name| workspace.state().join(name);
    let places = [
        workspace.logs(),
        workspace.unfinished(),
        below("measure"),
        below("state"),
    ];
    let entries = places
        .iter()
        .flat_map(|place| fs::read_dir(place).into_iter().flatten().flatten());
    let left = entries.filter(|entry| {
        let name = entry.file_name();
        let owner = name
            .to_str()
            .and_then(|name| name.split('.').find_map(leading_id));
        owner.is_some_and(has_ended)
    });
    let copies = copies_that_nobody_builds(workspace);
    left.map(|entry| entry.path())
        .chain(copies)
        .filter(|path| files::remove(path).is_ok())
        .collect()
}

/// Copies of crates have fixed names, so that cargo knows them again; a build of one holds its lock file.
fn copies_that_nobody_builds(workspace: &Workspace) -> Vec<PathBuf> {
    let entries = fs::read_dir(workspace.state().join("copies"));
    let entries = entries.into_iter().flatten().flatten();
    let folders = entries
        .map(|entry| entry.path())
        .filter(|path| path.is_dir());
    folders
        .filter(|path| {
            matches!(
                Lock::try_take(&path.with_added_extension("lock")),
                Ok(Some(_))
            )
        })
        .collect()
}

/// The process id that a part of a name begins with: `1234-0`.
fn leading_id(part: &str) -> Option<i32> {
    part.split_once('-')?.0.parse().ok()
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
    let entries = fs::read_dir(place).into_iter().flatten().flatten();
    let left = entries.filter(|entry| {
        let owner = entry.file_name().to_str().and_then(owner);
        owner.is_some_and(has_ended) && entry.file_type().is_ok_and(|kind| kind.is_dir())
    });
    // Another user's folder stays: it is not ours to remove.
    left.map(|entry| entry.path())
        .filter(|path| fs::remove_dir_all(path).is_ok())
        .collect()
}

/// The process id in a folder's name.
fn owner(name: &str) -> Option<i32> {
    leading_id(name.strip_prefix(PREFIX)?)
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
