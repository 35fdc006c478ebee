//! `just bench-loop --from-nothing`: how long the README's two commands take in an empty clone, compared with their limits.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::Context;

use super::bench_loop::within;
use workshop_base::outcome::{Outcome, Trouble};
use workshop_base::scratch;
use workshop_base::workspace::Workspace;

/// The longest that the tour may take from nothing, on two cores.
const TOUR: Duration = Duration::from_secs(8 * 60);
/// The same for the test command, and for its second run, when everything is built.
const TEST: Duration = Duration::from_secs(12 * 60);
const TEST_AGAIN: Duration = Duration::from_secs(3 * 60);

/// Runs both commands, each in a clone of the last commit, and the second one twice.
pub fn run(workspace: &Workspace) -> anyhow::Result<Outcome> {
    let tour = in_a_clone(workspace, &["tour"])?;
    let test = in_a_clone(workspace, &["test", "test"])?;
    let (what, limits) = (
        [
            "the tour, from nothing",
            "the test command, from nothing",
            "the test command, when everything is built",
        ],
        [TOUR, TEST, TEST_AGAIN],
    );
    let took = tour.into_iter().chain(test);
    let rows = what.into_iter().zip(took.zip(limits));
    let held: Vec<bool> = rows
        .map(|(what, (took, limit))| within(what, took, limit))
        .collect();
    Ok(Outcome::of(held.into_iter().all(|holds| holds)))
}

/// How long each of these commands took in one clone, one after the other.
fn in_a_clone(workspace: &Workspace, commands: &[&str]) -> anyhow::Result<Vec<Duration>> {
    let folder = scratch::folder_in_checkout(workspace, "from-nothing")?;
    let root = folder.path().join("course");
    let mut clone = Command::new("git");
    clone
        .args(["clone", "--quiet"])
        .args([workspace.root(), &root]);
    anyhow::ensure!(succeeds(&mut clone)?, "git could not clone the checkout");
    let took = commands
        .iter()
        .map(|command| timed(&root, command))
        .collect();
    // What the clone has started is its own: a server, a container.
    succeeds(&mut justw(&root, "clean"))?;
    took
}

fn timed(root: &Path, command: &str) -> anyhow::Result<Duration> {
    let started = Instant::now();
    if !succeeds(&mut justw(root, command))? {
        return Trouble::new(format!("./justw {command} is red in an empty clone"))
            .next(format!("./justw {command}"))
            .failed()
            .err();
    }
    Ok(started.elapsed())
}

fn justw(root: &Path, command: &str) -> Command {
    let mut justw = Command::new(root.join("justw"));
    justw
        .arg(command)
        .current_dir(root)
        .env_remove("CARGO_TARGET_DIR");
    justw
}

fn succeeds(command: &mut Command) -> anyhow::Result<bool> {
    let status = command
        .status()
        .with_context(|| format!("cannot start {:?}", command.get_program()))?;
    Ok(status.success())
}
