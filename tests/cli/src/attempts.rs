//! The learner's files: kept as an attempt before anything takes their place, and then replaced file by file.
//!
//! The order of steps is what makes it safe. The attempt is written elsewhere, made durable and moved to its name in one step;
//! only then are files replaced, each in one step, and only while they still are what the attempt holds. Whenever the tool dies,
//! every file of the learner is in place, in a complete attempt, or both; the same command a second time finishes the work.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

use workshop_base::exercise::Exercise;
use workshop_base::files::{self, Tree};
use workshop_base::lock::Lock;
use workshop_base::outcome::Trouble;
use workshop_base::workspace::Workspace;
use workshop_base::{originals, scratch};

/// What a replacement did.
#[derive(Debug)]
pub struct Replacement {
    /// The folder that holds the learner's files as they were; none when there were no files.
    pub attempt: Option<PathBuf>,
    /// Files that were written, relative to the exercise's folder.
    pub written: Vec<PathBuf>,
    /// Files that the learner had added where Cargo would build them; they are in the attempt only now.
    pub moved: Vec<PathBuf>,
}

/// Puts `wanted` in place of the learner's files, which are kept as an attempt first. Nothing when they are alike.
///
/// Files that the learner added are left alone, except where Cargo would build them with the new ones: a leftover `src/lib.rs`
/// would break the build. Those are moved into the attempt. Of a crate of their own, all files are.
pub fn replace(
    workspace: &Workspace,
    exercise: &Exercise,
    wanted: &Tree,
) -> anyhow::Result<Option<Replacement>> {
    let attempts = workspace.attempts().join(exercise.name());
    // Some network file systems know no locks; the names of attempts are still given out one at a time.
    let _lock = Lock::take_blocking(&attempts.join(".lock"), "replaces the same files").ok();
    let mine = originals::in_place(workspace, exercise)?;
    let (written, moved): (Vec<PathBuf>, Vec<PathBuf>) = files::differing(&mine, wanted)
        .into_iter()
        .filter(|path| wanted.contains_key(path) || exercise.is_own() || is_built(path))
        .partition(|path| wanted.contains_key(path));
    if written.is_empty() && moved.is_empty() {
        return Ok(None);
    }
    let attempt = if mine.is_empty() {
        None
    } else {
        Some(keep(workspace, &exercise.name(), &mine)?)
    };
    let folder = exercise.starter(workspace);
    let way = workspace.unfinished();
    for path in written.iter().chain(&moved) {
        let (before, after) = (mine.get(path), wanted.get(path));
        files::replace(&way, &folder.join(path), before, after).with_context(|| {
            Trouble::new(format!(
                "{} was only partly replaced; all your files are in {}",
                exercise.name(),
                files::shown(workspace, attempt.as_deref().unwrap_or(&folder))
            ))
            .next("run the same command again; it finishes what is left")
        })?;
    }
    Ok(Some(Replacement {
        attempt,
        written,
        moved,
    }))
}

fn is_built(path: &Path) -> bool {
    ["src", "tests", "examples", "benches", "build.rs"]
        .iter()
        .any(|place| path.starts_with(place))
}

/// Keeps the files of what has this name as its attempt `<UTC time>-<n>`. An attempt is never overwritten; when the newest one
/// holds exactly these files, it is that one.
pub fn keep(workspace: &Workspace, name: &str, mine: &Tree) -> anyhow::Result<PathBuf> {
    let attempts = workspace.attempts().join(name);
    keep_in(workspace, &attempts, name, mine).with_context(|| {
        let shown = files::shown(workspace, &attempts);
        Trouble::new(format!(
            "your files could not be kept in {shown}, so they were left alone"
        ))
        .expected("a folder that can be written to, and room on the disk")
        .next("just doctor says how much room there is; then the same command again")
    })
}

fn keep_in(
    workspace: &Workspace,
    attempts: &Path,
    name: &str,
    mine: &Tree,
) -> anyhow::Result<PathBuf> {
    fs::create_dir_all(attempts)?;
    if let Some(newest) = newest(attempts)?
        && files::read_tree(&newest)? == *mine
    {
        return Ok(newest);
    }
    let unfinished = scratch::folder_in_checkout(workspace, name)?;
    for (path, bytes) in mine {
        let path = unfinished.path().join(path);
        let folder = path.parent().unwrap_or(&path);
        fs::create_dir_all(folder)?;
        files::write_durably(&path, bytes)?;
        files::sync_folder(folder);
        files::crash_point();
    }
    files::sync_folder(unfinished.path());
    let time = jiff::Timestamp::now()
        .strftime("%Y-%m-%dT%H-%M-%SZ")
        .to_string();
    let name = (1..u32::MAX)
        .map(|number| attempts.join(format!("{time}-{number}")))
        .find(|name| !name.exists())
        .context("every name is taken")?;
    files::crash_point();
    unfinished.moved_to(&name)?;
    files::sync_folder(attempts);
    files::crash_point();
    Ok(name)
}

/// The newest complete attempt: their names begin with the time.
fn newest(attempts: &Path) -> anyhow::Result<Option<PathBuf>> {
    let entries: Vec<fs::DirEntry> = fs::read_dir(attempts)?.collect::<Result<_, _>>()?;
    let folders = entries.iter().map(fs::DirEntry::path);
    Ok(folders.filter(|path| path.is_dir()).max())
}
