//! What the tool remembers of an exercise between commands: the last check, the day it first passed, the last hint.
//! One readable file per exercise, `.workshop/state/exercise-3.toml`; deleting it loses only this memory.

use std::io::ErrorKind;
use std::path::PathBuf;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use workshop_base::{exercise::Exercise, files, lock::Lock, workspace::Workspace};

/// The name of the fault of a service that ends before it answers, and of its section in the hints.
pub const DOES_NOT_START: &str = "does not start";

/// How a check ended. One that could not judge says nothing about the work and is not remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckOutcome {
    Passed,
    /// At least one test failed.
    Failed,
    /// The compiler refused the crate.
    DoesNotCompile,
    /// The service ended before it answered.
    DoesNotStart,
}

/// One thing that a check found wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// The test, or the compiler's code: `E0277`, `error` where it has none, `kotlin`.
    pub name: String,
    /// The words that came with it; the compiler's message is their first line.
    #[serde(default)]
    pub said: String,
    /// The file and the function of a compiler's error.
    #[serde(default)]
    pub place: String,
}

impl Fault {
    /// A fault and its words.
    pub fn new(name: impl Into<String>, said: impl Into<String>) -> Self {
        Fault {
            name: name.into(),
            said: said.into(),
            place: String::new(),
        }
    }
}

/// What the last check of an exercise found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastCheck {
    pub outcome: CheckOutcome,
    pub at: Timestamp,
    /// What was wrong, in the order in which it was printed.
    #[serde(default)]
    pub faults: Vec<Fault>,
}

impl LastCheck {
    /// A check that has ended now, and what it found wrong.
    pub fn now(outcome: CheckOutcome, faults: Vec<Fault>) -> Self {
        LastCheck {
            outcome,
            at: now(),
            faults,
        }
    }
}

/// The hint that was shown last.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastHint {
    /// The failure that it was for: the test, or the compiler's code and message.
    #[serde(default)]
    pub failure: String,
    /// The heading of its section in `hints.md`.
    pub section: String,
    /// Its level, from 1.
    pub level: usize,
}

/// Everything remembered of one exercise.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Remembered {
    /// When a check passed for the first time.
    pub first_passed: Option<Timestamp>,
    /// When it was skipped; none from the next check on.
    pub skipped: Option<Timestamp>,
    /// The last check that could judge.
    pub last_check: Option<LastCheck>,
    pub last_hint: Option<LastHint>,
}

impl Remembered {
    /// True when it has passed, and was not red since.
    pub fn is_green(&self) -> bool {
        self.first_passed.is_some() && !self.is_red()
    }

    /// True when the last check was red.
    pub fn is_red(&self) -> bool {
        let check = self.last_check.as_ref();
        check.is_some_and(|check| check.outcome != CheckOutcome::Passed)
    }
}

/// Remembers a check, and the first one that passed.
pub fn record(workspace: &Workspace, exercise: &Exercise, check: &LastCheck) -> anyhow::Result<()> {
    change(workspace, exercise, |memory| {
        if check.outcome == CheckOutcome::Passed {
            memory.first_passed.get_or_insert(check.at);
        }
        memory.skipped = None;
        memory.last_check = Some(check.clone());
    })
}

/// Marks an exercise as skipped, unless it is green. Gives whether it is skipped now.
pub fn mark_skipped(workspace: &Workspace, exercise: &Exercise) -> anyhow::Result<bool> {
    change(workspace, exercise, |memory| {
        let is_skipped = !memory.is_green();
        if is_skipped {
            memory.skipped.get_or_insert_with(now);
        }
        is_skipped
    })
}

/// Marks an exercise as skipped no longer.
pub fn take_up(workspace: &Workspace, exercise: &Exercise) -> anyhow::Result<()> {
    change(workspace, exercise, |memory| memory.skipped = None)
}

/// Remembers the hint that was shown last.
pub fn record_hint(
    workspace: &Workspace,
    exercise: &Exercise,
    hint: LastHint,
) -> anyhow::Result<()> {
    change(workspace, exercise, |memory| memory.last_hint = Some(hint))
}

/// Forgets the last check and the last hint: they were about other files.
pub fn forget(workspace: &Workspace, exercise: &Exercise) -> anyhow::Result<()> {
    change(workspace, exercise, |memory| {
        memory.last_check = None;
        memory.last_hint = None;
    })
}

/// Changes the memory. Two commands that do so, `just watch` and `just hint`, take turns: none undoes what the other has written.
fn change<T>(
    workspace: &Workspace,
    exercise: &Exercise,
    how: impl FnOnce(&mut Remembered) -> T,
) -> anyhow::Result<T> {
    let lock = path(workspace, exercise).with_extension("lock");
    // Not every file system has locks.
    let _turn = Lock::take_blocking(&lock, "remembers something of the same exercise").ok();
    let before = recall(workspace, exercise);
    let mut memory = before.clone();
    let answer = how(&mut memory);
    if memory != before {
        remember(workspace, exercise, &memory)?;
    }
    Ok(answer)
}

/// Whole seconds: people read the file.
fn now() -> Timestamp {
    Timestamp::from_second(Timestamp::now().as_second()).unwrap_or(Timestamp::UNIX_EPOCH)
}

/// Everything remembered. A file that cannot be understood is set aside with a warning: memory is a comfort, and no
/// command fails for the want of it.
pub fn recall(workspace: &Workspace, exercise: &Exercise) -> Remembered {
    let path = path(workspace, exercise);
    let fault = match std::fs::read_to_string(&path) {
        Ok(text) => match toml::from_str(&text) {
            Ok(memory) => return memory,
            Err(error) => error.message().to_owned(),
        },
        Err(error) if error.kind() == ErrorKind::NotFound => return Remembered::default(),
        Err(error) => error.to_string(),
    };
    let aside = path.with_extension(format!("toml.broken-{}", Timestamp::now().as_millisecond()));
    let now = match std::fs::rename(&path, &aside) {
        Ok(()) => format!("it is now {}", files::shown(workspace, &aside)),
        Err(error) => format!("it stays there ({error})"),
    };
    eprintln!(
        "warning: {} cannot be understood ({fault}); {now}, so {} starts with none",
        files::shown(workspace, &path),
        exercise.name()
    );
    Remembered::default()
}

/// Writes the memory, atomically.
fn remember(workspace: &Workspace, exercise: &Exercise, memory: &Remembered) -> anyhow::Result<()> {
    let text = format!(
        "# What the tool remembers of {}. Deleting this file loses the memory, nothing else.\n{}",
        exercise.name(),
        toml::to_string(memory)?
    );
    files::write_atomically(&path(workspace, exercise), text.as_bytes())
}

fn path(workspace: &Workspace, exercise: &Exercise) -> PathBuf {
    workspace
        .state()
        .join("state")
        .join(format!("{}.toml", exercise.name()))
}

#[cfg(test)]
mod tests {
    use workshop_base::exercise::Catalogue;

    use super::*;

    #[test]
    fn a_hint_and_a_check_at_the_same_time_are_both_remembered() -> anyhow::Result<()> {
        let checkout = tempfile::tempdir()?;
        let workspace = Workspace::at(checkout.path());
        let course = Workspace::at(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
        let catalogue = Catalogue::read(&course)?;
        let exercise = catalogue.get(3)?;
        let check = LastCheck::now(CheckOutcome::Passed, Vec::new());
        for level in 1..100 {
            let hint = LastHint {
                failure: "a test".to_owned(),
                section: "a test".to_owned(),
                level,
            };
            std::thread::scope(|scope| {
                let checked = scope.spawn(|| record(&workspace, exercise, &check));
                record_hint(&workspace, exercise, hint.clone())?;
                checked.join().expect("a check that ends")
            })?;
            let memory = recall(&workspace, exercise);
            assert_eq!(memory.last_hint, Some(hint));
            assert_eq!(memory.last_check, Some(check.clone()), "at level {level}");
            std::fs::remove_file(path(&workspace, exercise))?;
        }
        Ok(())
    }
}
