//! `just watch`: check again at every change of the files of an exercise, or of the bug hunt.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use notify::{PollWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::cli::CheckOptions;
use crate::commands::{case, exercise, hint, solution};
use crate::hunt::{self, Hunt};
use crate::keys::Keys;
use crate::signals::interrupted;
use crate::state::{self, CheckOutcome};
use crate::subject::CheckTarget;
use workshop_base::exercise::Exercise;
use workshop_base::files::{self, Tree};
use workshop_base::originals;
use workshop_base::outcome::{self, Outcome, Trouble};
use workshop_base::terminal::{Style, paint};
use workshop_base::workspace::Workspace;

/// Editors write in several steps; a change counts when this long nothing more came.
const QUIET: Duration = Duration::from_millis(150);

/// Rings where a terminal can.
const BELL: char = '\u{7}';

/// How often files are looked at where the system cannot tell of changes.
const POLL: Duration = Duration::from_secs(1);

/// What a key does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Key {
    Hint,
    FirstRed,
    Reference,
    Again,
    Quit,
}

impl Key {
    fn of(pressed: char) -> Option<Key> {
        Some(match pressed {
            'h' => Key::Hint,
            'f' => Key::FirstRed,
            's' => Key::Reference,
            'r' | '\n' | '\r' | ' ' => Key::Again,
            'q' => Key::Quit,
            _ => return None,
        })
    }
}

const KEYS: &str = "h: hint, f: first red test only, s: reference, r: run again, q: quit";

/// Checks, waits for a change or a key, checks again, until Ctrl-C or `q`. A hunt also ends when it is green.
pub async fn run(workspace: &Workspace, target: CheckTarget) -> anyhow::Result<Outcome> {
    let watched = Watched::find(workspace, target)?;
    let folder = watched.folder(workspace);
    let mut changes = Changes::below(&folder)?;
    let mut keys = Keys::read();
    let ends = match keys {
        Some(_) => KEYS,
        None => "Ctrl-C to end",
    };
    let interrupted = interrupted();
    tokio::pin!(interrupted);
    let mut options = CheckOptions::default();
    let mut was_red = false;
    loop {
        let checked = watched.files(workspace)?;
        let result = tokio::select! {
            result = case::check(workspace, target, &options) => result,
            // Dropping the check stops what it started.
            () = &mut interrupted => return Ok(stopped()),
            () = quits(&mut keys) => return Ok(stopped()),
        };
        let is_green = matches!(result, Ok(Outcome::Passed));
        // A red or broken check is no reason to stop watching; its exit code belongs to `check`.
        let _ = outcome::exit_code(result);
        if is_green && target == CheckTarget::Hunt {
            return Ok(Outcome::Passed);
        }
        if is_green && !options.only.is_empty() {
            // The one test is green: how are all the others?
            options.only.clear();
            continue;
        }
        if is_green && was_red && std::io::stdout().is_terminal() {
            print!("{BELL}");
        }
        was_red = !is_green;
        let line = format!(
            "watching {}; save a file to check again, {ends}",
            files::shown(workspace, &folder)
        );
        let tell = || println!("{}", paint(Style::Faint, &line));
        tell();
        loop {
            let key = tokio::select! {
                change = watched.changed(&mut changes) => { change?; None }
                () = &mut interrupted => return Ok(stopped()),
                key = Keys::next(&mut keys) => match Key::of(key) {
                    Some(key) => Some(key),
                    None => continue,
                },
            };
            match key {
                // Files saved unchanged, and editors' own files that came and went, are no change.
                None if watched.files(workspace)? == checked => {}
                None => break,
                Some(Key::Quit) => return Ok(stopped()),
                Some(Key::Again) => {
                    options.only.clear();
                    break;
                }
                Some(Key::FirstRed) => match watched.first_red(workspace) {
                    Some(test) => {
                        options.only = vec![test];
                        break;
                    }
                    None => println!("no test was red at the last check"),
                },
                Some(key) => {
                    let shown = watched.show(workspace, key);
                    let _ = outcome::exit_code(shown);
                    tell();
                }
            }
        }
    }
}

/// Returns when `q` is pressed. Other keys mean nothing while a check runs.
async fn quits(keys: &mut Option<Keys>) {
    while Key::of(Keys::next(keys).await) != Some(Key::Quit) {}
}

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

    /// The first test that was red at the last check of all.
    fn first_red(&self, workspace: &Workspace) -> Option<String> {
        match self {
            Watched::Exercise(exercise) => {
                let check = state::recall(workspace, exercise).last_check?;
                let is_red = check.outcome == CheckOutcome::Failed;
                let first = check.faults.into_iter().next().filter(|_| is_red);
                first.map(|fault| fault.name)
            }
            Watched::Hunt(hunt) => Some(hunt.clue.clone()),
        }
    }

    /// What the keys for help show.
    fn show(&self, workspace: &Workspace, key: Key) -> anyhow::Result<Outcome> {
        match self {
            Watched::Exercise(exercise) if key == Key::Hint => hint::run(workspace, exercise, None),
            Watched::Exercise(exercise) => solution::run(workspace, exercise, false),
            Watched::Hunt(_) => Trouble::new("a hunt has neither hints nor a reference")
                .next("just reset hunt gives it up, and tells what it was")
                .err(),
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
