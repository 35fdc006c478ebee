//! A seat in the room: where the lines of this laptop go.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use serde::{Deserialize, Serialize};

use super::background::within;
use super::line::{self, ENDING, LONGEST_NAME, RoomLine};
use crate::state::{CheckOutcome, LastCheck};

use workshop_base::exercise::Exercise;
use workshop_base::outcome::Trouble;
use workshop_base::terminal::columns;
use workshop_base::workspace::Workspace;
use workshop_base::{files, lock::Lock};

/// How long a check waits for the room's folder. A share whose server has gone answers nothing, not even an error.
const PATIENCE: Duration = Duration::from_secs(5);

/// Where somebody's lines go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seat {
    /// As the person wants to be called.
    pub name: String,
    /// The folder that the instructor reads.
    pub folder: PathBuf,
    /// What tells two people of one name apart.
    pub id: String,
}

impl Seat {
    /// Takes a seat: from now on each check leaves a line in the folder.
    pub fn take(workspace: &Workspace, folder: &Path, name: &str) -> anyhow::Result<Seat> {
        let shown = line::name(name);
        let typed: String = name.split_whitespace().collect::<Vec<_>>().join(" ");
        if !line::is_visible(&shown)
            || columns(&typed) > LONGEST_NAME
            || typed.chars().any(char::is_control)
        {
            return Trouble::new("this isn't a name that the board can show")
                .expected(format!(
                    "1 to {LONGEST_NAME} letters of any script (a wide one such as 李 counts twice), whatever you want to be called"
                ))
                .next("just progress --to DIR --name Ada")
                .err();
        }
        let folder = std::path::absolute(folder)?;
        let looked_at = folder.clone();
        let is_there = within(PATIENCE, move || looked_at.is_dir());
        if is_there != Some(true) {
            let problem = match is_there {
                None => format!("the folder {} doesn't answer", folder.display()),
                Some(_) => format!("there is no folder {}", folder.display()),
            };
            return Trouble::new(problem)
                .expected(
                    "the folder of the room, a share or a synced folder, as your instructor says",
                )
                .next("ls it; then the same command again")
                .err();
        }
        let before = Seat::of(workspace).map(|seat| seat.id);
        let seat = Seat {
            name: shown,
            folder,
            id: before.unwrap_or_else(new_id),
        };
        seat.keep(workspace)?;
        Ok(seat)
    }

    /// The seat that was taken, if one was.
    pub fn of(workspace: &Workspace) -> Option<Seat> {
        toml::from_str(&fs::read_to_string(seat_file(workspace)).ok()?).ok()
    }

    /// Gives the seat up, and forgets the lines here. Those in the room's folder are the person's to delete.
    pub fn give_up(workspace: &Workspace) -> anyhow::Result<Option<Seat>> {
        let seat = Seat::of(workspace);
        let room = workspace.state().join("room");
        if room.exists() {
            fs::remove_dir_all(&room)
                .with_context(|| format!("cannot remove {}", room.display()))?;
        }
        Ok(seat)
    }

    /// The person's file in the room's folder. It keeps its name when the person takes another one.
    pub fn file(&self) -> PathBuf {
        self.folder.join(format!("{}.{ENDING}", self.id))
    }

    fn keep(&self, workspace: &Workspace) -> anyhow::Result<()> {
        files::write_atomically(&seat_file(workspace), toml::to_string(self)?.as_bytes())
    }

    /// Brings all lines to the room's folder, unless it is away.
    fn bring(mut self, workspace: &Workspace) -> anyhow::Result<()> {
        // What a power cut has left of a line stays here.
        let (lines, _) = line::read(&fs::read(lines_file(workspace))?);
        if self.put(&lines)? {
            return Ok(());
        }
        let theirs = self.file();
        self.id = new_id();
        self.keep(workspace)?;
        eprintln!(
            "note: {} is written by another laptop as well, as happens where both are copies of one; yours is {} from now on",
            theirs.display(),
            self.file().display()
        );
        self.put(&lines)?;
        Ok(())
    }

    /// Writes the lines, unless the file has one that this laptop has not: a disk image that had a seat gives the same one to each copy.
    fn put(&self, lines: &[RoomLine]) -> anyhow::Result<bool> {
        let (folder, file, lines) = (self.folder.clone(), self.file(), lines.to_owned());
        let put = within(PATIENCE, move || {
            anyhow::ensure!(folder.is_dir(), "it isn't there");
            let there = files::read_if_there(&file)?.unwrap_or_default();
            let is_ours = line::read(&there).0.iter().all(|line| lines.contains(line));
            if is_ours {
                files::write_atomically(&file, line::written(&lines)?.as_bytes())?;
            }
            Ok(is_ours)
        });
        put.context("it doesn't answer")?
    }
}

/// By chance, and not from the machine: laptops that are copies of one have its names and numbers, too.
fn new_id() -> String {
    format!("{:08x}", rand::random::<u32>())
}

/// Keeps what a check has said, where somebody has taken a seat. A room that is away fails no check.
pub fn note(workspace: &Workspace, exercise: &Exercise, check: &LastCheck) {
    let Some(seat) = Seat::of(workspace) else {
        return;
    };
    let line = RoomLine {
        at: check.at,
        name: seat.name.clone(),
        exercise: exercise.number,
        green: check.outcome == CheckOutcome::Passed,
        red: check.faults.first().map(|fault| fault.name.clone()),
    };
    let folder = seat.folder.clone();
    // Two checks at the same time write one line after the other. Not every file system has locks.
    let lock = lines_file(workspace).with_extension("lock");
    let _turn = Lock::take_blocking(&lock, "keeps a line for the room").ok();
    let brought = append(workspace, &line).and_then(|()| seat.bring(workspace));
    if let Err(error) = brought {
        let folder = folder.display();
        eprintln!(
            "note: the room's folder {folder} has not got this check ({error:#}); the next one brings it"
        );
    }
}

/// Durable before the room has it: a line that the room's file has and this laptop has not is another laptop's.
fn append(workspace: &Workspace, line: &RoomLine) -> anyhow::Result<()> {
    let path = lines_file(workspace);
    let before = files::read_if_there(&path)?.unwrap_or_default();
    let mut text = line::written(std::slice::from_ref(line))?;
    if !before.is_empty() && !before.ends_with(b"\n") {
        // Half a line, of a power cut.
        text.insert(0, '\n');
    }
    let mut file = OpenOptions::new().create(true).append(true).open(&path)?;
    file.write_all(text.as_bytes())?;
    file.sync_data()?;
    Ok(())
}

fn seat_file(workspace: &Workspace) -> PathBuf {
    workspace.state().join("room/seat.toml")
}

/// What the checks of this laptop have said.
pub(super) fn lines_file(workspace: &Workspace) -> PathBuf {
    workspace.state().join("room/lines.jsonl")
}
