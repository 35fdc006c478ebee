//! The learner's files: kept as an attempt before anything takes their place, and then replaced file by file.
//!
//! The order of steps is what makes it safe. The attempt is written beside its final name, made durable and moved
//! there in one step; only then are files replaced, each in one step, and only while they still are what the attempt
//! holds. Whenever the tool dies, every file of the learner is in place, in a complete attempt, or both; the same
//! command a second time finishes the work.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::Context;

use workshop_base::exercise::Exercise;
use workshop_base::files;
use workshop_base::files::Tree;
use workshop_base::originals;
use workshop_base::outcome::Trouble;
use workshop_base::workspace::Workspace;

/// The start of the names of attempts that are being written.
const UNFINISHED: &str = ".unfinished-";

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

/// Keeps the learner's files of an exercise as they are now in `.workshop/attempts/exercise-N/<UTC time>-<n>`. An
/// attempt is never overwritten; when the newest one holds exactly these files, it is that one.
///
/// # Errors
/// When the files cannot be read, or the disk refuses; nothing has changed then.
pub fn save(workspace: &Workspace, exercise: &Exercise) -> anyhow::Result<PathBuf> {
    let _lock = lock(workspace, exercise)?;
    keep(
        workspace,
        exercise,
        &originals::in_place(workspace, exercise)?,
    )
}

/// Puts `wanted` in place of the learner's files, which are kept as an attempt first. Nothing when they are alike.
///
/// Files that the learner added are left alone, except where Cargo would build them with the new ones (below `src`,
/// `tests`, `examples` and `benches`, and `build.rs`): a leftover `src/lib.rs` would break the build. Those are moved
/// into the attempt.
///
/// # Errors
/// When the disk refuses, or a file changes while it is being replaced. The error says what to do; nothing is lost.
pub fn replace(
    workspace: &Workspace,
    exercise: &Exercise,
    wanted: &Tree,
) -> anyhow::Result<Option<Replacement>> {
    let _lock = lock(workspace, exercise)?;
    let mine = originals::in_place(workspace, exercise)?;
    let (written, moved) = changes(&mine, wanted);
    if written.is_empty() && moved.is_empty() {
        return Ok(None);
    }
    let attempt = if mine.is_empty() {
        None
    } else {
        Some(keep(workspace, exercise, &mine)?)
    };
    let folder = exercise.starter(workspace);
    for path in written.iter().chain(&moved) {
        files::replace(&folder.join(path), mine.get(path), wanted.get(path)).with_context(
            || {
                let kept = attempt.as_deref().unwrap_or(&folder);
                Trouble::new(format!(
                    "{} is replaced in part only; all your files are in {}",
                    exercise.name(),
                    files::shown(workspace, kept)
                ))
                .next("the same command again finishes it")
            },
        )?;
    }
    Ok(Some(Replacement {
        attempt,
        written,
        moved,
    }))
}

/// The files to write and the files to move away.
fn changes(mine: &Tree, wanted: &Tree) -> (Vec<PathBuf>, Vec<PathBuf>) {
    files::differing(mine, wanted)
        .into_iter()
        .filter(|path| wanted.contains_key(path) || is_built(path))
        .partition(|path| wanted.contains_key(path))
}

fn is_built(path: &Path) -> bool {
    ["src", "tests", "examples", "benches"]
        .iter()
        .any(|folder| path.starts_with(folder))
        || path == Path::new("build.rs")
}

/// One command at a time replaces the files of an exercise; the next one waits.
fn lock(workspace: &Workspace, exercise: &Exercise) -> anyhow::Result<File> {
    let folder = workspace.attempts().join(exercise.name());
    let context = || not_kept(workspace, &folder);
    fs::create_dir_all(&folder).with_context(context)?;
    let lock = File::create(folder.join(".lock")).with_context(context)?;
    // Some network file systems know no locks; the names of attempts are still given out one at a time.
    let _ = lock.lock();
    Ok(lock)
}

/// Told when nothing has been touched yet.
fn not_kept(workspace: &Workspace, folder: &Path) -> Trouble {
    let folder = files::shown(workspace, folder);
    Trouble::new(format!(
        "your files could not be kept in {folder}, so they were left alone"
    ))
    .expected("a folder that can be written to, and room on the disk")
    .next("just doctor tells how much room there is; then the same command again")
}

fn keep(workspace: &Workspace, exercise: &Exercise, mine: &Tree) -> anyhow::Result<PathBuf> {
    let folder = workspace.attempts().join(exercise.name());
    let context = || not_kept(workspace, &folder);
    if let Some(newest) = newest(&folder).with_context(context)?
        && files::read_tree(&newest).with_context(context)? == *mine
    {
        return Ok(newest);
    }
    let unfinished = folder.join(format!("{UNFINISHED}{}", std::process::id()));
    let _ = fs::remove_dir_all(&unfinished);
    let mut folders = vec![unfinished.clone()];
    fs::create_dir_all(&unfinished).with_context(context)?;
    for (path, bytes) in mine {
        let path = unfinished.join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).with_context(context)?;
            folders.push(parent.to_path_buf());
        }
        files::write_durably(&path, bytes).with_context(context)?;
        files::crash_point();
    }
    for folder in &folders {
        files::sync_folder(folder);
    }
    let time = jiff::Timestamp::now()
        .strftime("%Y-%m-%dT%H-%M-%SZ")
        .to_string();
    let name = (1..u32::MAX)
        .map(|number| folder.join(format!("{time}-{number}")))
        .find(|name| !name.exists())
        .with_context(context)?;
    files::crash_point();
    fs::rename(&unfinished, &name).with_context(context)?;
    files::sync_folder(&folder);
    files::crash_point();
    remove_unfinished(&folder);
    Ok(name)
}

/// The newest complete attempt. Names begin with the time, and numbers of one second rarely reach two digits.
fn newest(folder: &Path) -> std::io::Result<Option<PathBuf>> {
    let mut newest: Option<(String, usize, PathBuf)> = None;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with('.') || !entry.file_type()?.is_dir() {
            continue;
        }
        let (time, number) = name.rsplit_once('-').unwrap_or((&name, "0"));
        let candidate = (time.to_owned(), number.parse().unwrap_or(0), entry.path());
        if newest.as_ref().is_none_or(|newest| *newest < candidate) {
            newest = Some(candidate);
        }
    }
    Ok(newest.map(|(_, _, path)| path))
}

/// Removes what a run that died left half-copied: the originals of those copies are in place or in a later attempt.
/// Only under the lock, so that no other run is writing there.
fn remove_unfinished(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}
