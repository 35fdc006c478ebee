//! `just watch`: check again at every change of the exercise's files.

use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use notify::{PollWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::cli::CheckArgs;
use crate::commands::{check, interrupted};
use crate::subject::Subject;
use workshop_base::exercise::Exercise;
use workshop_base::outcome::{self, Outcome};
use workshop_base::target::Target;
use workshop_base::terminal::{Style, paint};
use workshop_base::workspace::Workspace;
use workshop_base::{files, originals};

/// Editors write in several steps; a change counts when this long nothing more came.
const QUIET: Duration = Duration::from_millis(150);

/// How often files are looked at where the system cannot tell of changes.
const POLL: Duration = Duration::from_secs(1);

/// Checks, waits for a change, checks again, until Ctrl-C.
pub async fn run(workspace: &Workspace, exercise: &Exercise) -> anyhow::Result<Outcome> {
    let folder = exercise.starter(workspace);
    let mut changes = Changes::below(&folder)?;
    let interrupted = interrupted();
    tokio::pin!(interrupted);
    loop {
        let checked = originals::in_place(workspace, exercise)?;
        let args = CheckArgs {
            target: Subject::Target(Target::Exercise(exercise.number)),
            timings: false,
        };
        tokio::select! {
            result = check::run(workspace, &args) => {
                // A red or broken check is no reason to stop watching; its exit code belongs to `check`.
                let _ = outcome::exit_code(result);
            }
            // Dropping the check stops what it started.
            () = &mut interrupted => return Ok(stopped()),
        }
        let line = format!(
            "watching {}; save a file to check again, Ctrl-C to end",
            files::shown(workspace, &folder)
        );
        println!("{}", paint(Style::Faint, line));
        loop {
            tokio::select! {
                change = changes.settled() => change?,
                () = &mut interrupted => return Ok(stopped()),
            }
            // Files saved unchanged, and editors' own files that came and went, are no change.
            if originals::in_place(workspace, exercise)? != checked {
                break;
            }
        }
    }
}

fn stopped() -> Outcome {
    println!("\nno longer watching");
    Outcome::Passed
}

/// The watcher, once it watches this folder.
fn watching(
    watcher: notify::Result<impl Watcher + 'static>,
    folder: &Path,
) -> notify::Result<Box<dyn Watcher>> {
    let mut watcher = watcher?;
    watcher.watch(folder, RecursiveMode::Recursive)?;
    Ok(Box::new(watcher))
}

/// Tells of changes below a folder.
struct Changes {
    events: UnboundedReceiver<()>,
    /// Stops watching when it is dropped.
    _watcher: Box<dyn Watcher>,
}

impl Changes {
    fn below(folder: &Path) -> anyhow::Result<Self> {
        let (sender, events) = tokio::sync::mpsc::unbounded_channel();
        let tell = move |event: notify::Result<notify::Event>| {
            // Cargo reading the files is an event too. Nobody listens when the command is ending.
            if !event.is_ok_and(|event| event.kind.is_access()) {
                let _ = sender.send(());
            }
        };
        let told = watching(notify::recommended_watcher(tell.clone()), folder);
        let watcher = told.or_else(|error| {
            eprintln!(
                "note: the system cannot tell of changes ({error}); looking every second (see just doctor)"
            );
            let config = notify::Config::default()
                .with_poll_interval(POLL)
                .with_compare_contents(true);
            watching(PollWatcher::new(tell, config), folder)
                .with_context(|| format!("cannot watch {}", folder.display()))
        })?;
        Ok(Changes {
            events,
            _watcher: watcher,
        })
    }

    /// Waits for a change and then until no more come.
    async fn settled(&mut self) -> anyhow::Result<()> {
        self.events
            .recv()
            .await
            .context("the watching of files ended by itself")?;
        while let Ok(Some(())) = tokio::time::timeout(QUIET, self.events.recv()).await {}
        Ok(())
    }
}
