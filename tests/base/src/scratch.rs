//! Folders for temporary files outside the checkout, where other users' processes get at them. A tool that is killed cannot remove
//! its own: whoever needs one next does, and `just clean`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use nix::errno::Errno;
use nix::sys::signal::kill;
use nix::unistd::Pid;
use tempfile::TempDir;

/// What the names of these folders begin with; the process id of their owner follows.
const PREFIX: &str = "kotlin-to-rust-workshop-";

/// A folder of this process; it goes when it is dropped.
///
/// # Errors
/// When there is no room for temporary files.
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
    let (owner, _) = name.strip_prefix(PREFIX)?.split_once('-')?;
    owner.parse().ok()
}

fn has_ended(process: i32) -> bool {
    kill(Pid::from_raw(process), None) == Err(Errno::ESRCH)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::{folder_in, sweep_in};

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
