//! `just watch`: check again at every change of the files of an exercise, or of the bug hunt.
//!
//! The files are read several times per second. They are few and small, and that also works where a system tells nobody of changes:
//! on a share, in a container, or when an editor has taken all the watches there are.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use tokio::time::sleep;

use crate::commands::{check, exercise, interrupted};
use crate::hunt::{self, Hunt};
use crate::subject::Subject;
use workshop_base::outcome::{self, Outcome};
use workshop_base::terminal::{Style, paint};
use workshop_base::workspace::Workspace;
use workshop_base::{files, originals};

/// How often the files are read. Editors write in several steps: a change counts when the files are the same twice.
const POLL: Duration = Duration::from_millis(150);

/// Checks, waits for a change, checks again, until Ctrl-C. A hunt also ends when it is green.
pub async fn run(workspace: &Workspace, target: Subject) -> anyhow::Result<Outcome> {
    tokio::select! {
        ended = watch(workspace, target) => ended,
        // Dropping a check stops what it started.
        () = interrupted() => {
            println!("\nno longer watching");
            Ok(Outcome::Passed)
        }
    }
}

async fn watch(workspace: &Workspace, target: Subject) -> anyhow::Result<Outcome> {
    let (exercise, hunt) = match target {
        Subject::Target(target) => (Some(exercise(workspace, target)?), None),
        Subject::Hunt => (None, Some(Hunt::on(workspace)?)),
    };
    let folder = match &exercise {
        Some(exercise) => exercise.starter(workspace),
        None => hunt::folder(workspace),
    };
    let read = || match &exercise {
        Some(exercise) => originals::in_place(workspace, exercise),
        None => hunt::in_place(workspace),
    };
    let ticking = hunt.filter(|_| std::io::stdout().is_terminal());
    loop {
        let checked = read()?;
        // A red or broken check is no reason to stop watching; its exit code belongs to `check`.
        let result = check::run(workspace, target, false).await;
        let is_green = matches!(result, Ok(Outcome::Passed));
        let _ = outcome::exit_code(result);
        if is_green && target == Subject::Hunt {
            return Ok(Outcome::Passed);
        }
        let line = format!(
            "watching {}; save a file to check again, Ctrl-C to end",
            files::shown(workspace, &folder)
        );
        println!("{}", paint(Style::Faint, line));
        let mut before = None;
        loop {
            sleep(POLL).await;
            let now = read()?;
            // Files saved unchanged, and editors' own files that came and went, are no change.
            if now != checked && before.as_ref() == Some(&now) {
                break;
            }
            before = Some(now);
            if let Some(clock) = ticking.as_ref().and_then(Hunt::clock) {
                // Spaces take away what is left of a longer line.
                print!("\r{clock}  ");
                std::io::stdout().flush()?;
            }
        }
        if ticking.as_ref().and_then(Hunt::clock).is_some() {
            println!();
        }
    }
}
