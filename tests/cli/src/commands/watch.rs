//! `just watch`: check again at every change of the files of an exercise, or of the bug hunt.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use notify::{PollWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::commands::{case, exercise};
use crate::hunt::{self, Hunt};
use crate::signals::interrupted;
use crate::subject::CheckTarget;
use workshop_base::exercise::Exercise;
use workshop_base::files::{self, Tree};
use workshop_base::originals;
use workshop_base::outcome::{self, Outcome};
use workshop_base::terminal::{Style, paint};
use workshop_base::workspace::Workspace;

/// Editors write in several steps; a change counts when this long nothing more came.
const QUIET: Duration = Duration::from_millis(150);

/// How often files are looked at where the system cannot tell of changes.
const POLL: Duration = Duration::from_secs(1);

/// Checks, waits for a change, checks again, until Ctrl-C. A hunt also ends when it is green.
pub async fn run(workspace: &Workspace, target: CheckTarget) -> anyhow::Result<Outcome> {
    let watched = Watched::find(workspace, target)?;
    let folder = watched.folder(workspace);
    let mut changes = Changes::below(&folder)?;
    let interrupted = interrupted();
    tokio::pin!(interrupted);
    loop {
        let checked = watched.files(workspace)?;
        tokio::select! {
            // A red or broken check is no reason to stop watching; its exit code belongs to `check`.
            result = case::check(workspace, target, false) => {
                let is_green = matches!(result, Ok(Outcome::Passed));
                let _ = outcome::exit_code(result);
                if is_green && target == CheckTarget::Hunt {
                    return Ok(Outcome::Passed);
                }
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
                change = watched.changed(&mut changes) => change?,
                () = &mut interrupted => return Ok(stopped()),
            }
            // Files saved unchanged, and editors' own files that came and went, are no change.
            if watched.files(workspace)? != checked {
                break;
            }
        }
    }
}

/// What is watched.
enum Watched {
    Exercise(Exercise),
    Hunt(Hunt),
}

impl Watched {
    fn find(workspace: &Workspace, target: CheckTarget) -> anyhow::Result<Watched> {
        Ok(match target {
            CheckTarget::Target(target) => Watched::Exercise(exercise(workspace, target)?),
            CheckTarget::Hunt => Watched::Hunt(Hunt::on(workspace)?),
        })
    }

    fn folder(&self, workspace: &Workspace) -> PathBuf {
        match self {
            Watched::Exercise(exercise) => exercise.starter(workspace),
            Watched::Hunt(_) => hunt::folder(workspace),
        }
    }

    fn files(&self, workspace: &Workspace) -> anyhow::Result<Tree> {
        match self {
            Watched::Exercise(exercise) => originals::in_place(workspace, exercise),
            Watched::Hunt(_) => hunt::in_place(workspace),
        }
    }

    /// Waits for a change. Meanwhile the clock of a hunt ticks, where it is on a terminal.
    async fn changed(&self, changes: &mut Changes) -> anyhow::Result<()> {
        let clock = match self {
            Watched::Hunt(hunt) if hunt.clock().is_some() && std::io::stdout().is_terminal() => {
                hunt
            }
            _ => return changes.settled().await,
        };
        let mut settled = std::pin::pin!(changes.settled());
        let mut seconds = tokio::time::interval(Duration::from_secs(1));
        loop {
            tokio::select! {
                change = &mut settled => {
                    println!();
                    return change;
                }
                _ = seconds.tick() => {
                    // Spaces take away what is left of a longer line.
                    print!("\r{}  ", clock.clock().unwrap_or_default());
                    std::io::stdout().flush()?;
                }
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
            // Cargo reading the files is an event too. The receiver is gone when the command is ending.
            if !event.is_ok_and(|event| event.kind.is_access()) {
                let _ = sender.send(());
            }
        };
        let told = watching(notify::recommended_watcher(tell.clone()), folder);
        let watcher = told.or_else(|error| {
            eprintln!(
                "note: the system cannot report changes ({error}), so the files are read once per second; where too many are watched, sudo sysctl fs.inotify.max_user_watches=65536 helps"
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
            .context("the system stopped reporting changes")?;
        while let Ok(Some(())) = tokio::time::timeout(QUIET, self.events.recv()).await {}
        Ok(())
    }
}
