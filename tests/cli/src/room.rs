//! The room: what the checks of somebody have said, in a file of that person's own in a folder that an instructor reads, by `just board`.
//! Only who asks for it has one, nothing but these lines goes there, and the folder may be away at times: the lines are kept here, and the next check brings all.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::state::{CheckOutcome, LastCheck};

use workshop_base::exercise::Exercise;
use workshop_base::outcome::Trouble;
use workshop_base::workspace::Workspace;
use workshop_base::{files, lock::Lock};

/// The longest name of a person, in characters.
const LONGEST_NAME: usize = 30;

/// The ending of a person's file.
pub const ENDING: &str = "room.jsonl";

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

/// What one check has said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoomLine {
    pub at: Timestamp,
    pub name: String,
    pub exercise: u8,
    /// Whether all was green.
    pub green: bool,
    /// The first thing that was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub red: Option<String>,
}

impl Seat {
    /// Takes a seat: from now on each check leaves a line in the folder.
    pub fn take(workspace: &Workspace, folder: &Path, name: &str) -> anyhow::Result<Seat> {
        let name: String = name.split_whitespace().collect::<Vec<_>>().join(" ");
        if name.is_empty()
            || name.chars().count() > LONGEST_NAME
            || name.chars().any(char::is_control)
        {
            return Trouble::new("this isn't a name that the board can show")
                .expected(format!(
                    "1 to {LONGEST_NAME} characters, whatever you want to be called"
                ))
                .next("just progress --to DIR --name Ada")
                .err();
        }
        let folder = std::path::absolute(folder)?;
        if !folder.is_dir() {
            return Trouble::new(format!("there is no folder {}", folder.display()))
                .expected(
                    "the folder of the room, a share or a synced folder, as your instructor says",
                )
                .next("ls it; then the same command again")
                .err();
        }
        let before = Seat::of(workspace).map(|seat| seat.id);
        let id = before.unwrap_or_else(|| format!("{:08x}", rand::random::<u32>()));
        let seat = Seat { name, folder, id };
        files::write_atomically(&seat_file(workspace), toml::to_string(&seat)?.as_bytes())?;
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

    /// Brings all lines to the room's folder, unless it is away.
    fn bring(&self, workspace: &Workspace) -> anyhow::Result<()> {
        anyhow::ensure!(self.folder.is_dir(), "it isn't there");
        let lines = fs::read(lines_file(workspace))?;
        files::write_atomically(&self.file(), &lines)
    }
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
    let brought = append(workspace, &line).and_then(|()| seat.bring(workspace));
    if let Err(error) = brought {
        let folder = seat.folder.display();
        eprintln!(
            "note: the room's folder {folder} has not got this check ({error:#}); the next one brings it"
        );
    }
}

fn append(workspace: &Workspace, line: &RoomLine) -> anyhow::Result<()> {
    let path = lines_file(workspace);
    // Two checks at the same time write one line after the other. Not every file system has locks.
    let _turn = Lock::take_blocking(&path.with_extension("lock"), "keeps a line for the room").ok();
    let mut file = OpenOptions::new().create(true).append(true).open(&path)?;
    file.write_all(format!("{}\n", serde_json::to_string(line)?).as_bytes())?;
    Ok(())
}

fn seat_file(workspace: &Workspace) -> PathBuf {
    workspace.state().join("room/seat.toml")
}

fn lines_file(workspace: &Workspace) -> PathBuf {
    workspace.state().join("room/lines.jsonl")
}
