//! `just measure all`: the measurement of each exercise, unless its figures are of the code as it is. Every result is written when it's
//! there, so a run that was stopped goes on where it was.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use workshop::cli::{AllArgs, MeasureArgs};
use workshop_base::exercise::{Catalogue, Exercise, Kind};
use workshop_base::outcome::Outcome;
use workshop_base::program;
use workshop_base::target::Target;
use workshop_base::terminal::{Style, paint};
use workshop_base::workspace::Workspace;
use workshop_results::file::ResultFile;
use workshop_tasks as tasks;

use crate::measure;

/// What a measurement is about, for git: of what else the checkout holds, nothing changes a figure.
const MEASURED: [&str; 11] = [
    "exercises/kotlin-service",
    "solutions",
    "tests/measure",
    "tests/tasks",
    "tests/peers",
    "tests/ceiling",
    "Cargo.lock",
    ":!*.md",
    ":!*.patch",
    ":!solutions/*/exercise.toml",
    ":!solutions/*/what-is-new.toml",
];

/// Measures what is old, one exercise after the other. One that fails is told at the end, and the others are measured all the same.
pub async fn run(workspace: &Workspace, args: AllArgs) -> anyhow::Result<Outcome> {
    let catalogue = Catalogue::read(workspace)?;
    let (started, mut failed) = (Instant::now(), Vec::new());
    for exercise in catalogue.iter() {
        let Some(task) = exercise.task() else {
            continue;
        };
        let (name, target) = (exercise.name(), target(exercise));
        let of_target = match args.result.reference {
            true => name.clone(),
            false => target.to_string(),
        };
        let path = measure::place(workspace, &args.result, &of_target);
        if is_of_this_code(workspace, &path).await {
            println!("{name}: its figures are of the code as it is");
            continue;
        }
        println!("\n{}", paint(Style::Strong, &name));
        let one = MeasureArgs {
            target: Some(target),
            peers: args.peers && tasks::has_peers(task)?,
            result: args.result.clone(),
            ..MeasureArgs::default()
        };
        match measure::run(workspace, &one).await {
            Ok(Outcome::Passed) => {}
            Ok(_) => failed.push(format!("{name}: its result is invalid, and says why")),
            Err(error) => failed.push(format!("{name}: {error:#}")),
        }
    }
    let minutes = started.elapsed().as_secs().div_ceil(60);
    println!("\nall that was old is measured, in {minutes} min");
    for failure in &failed {
        println!("{}", paint(Style::Bad, failure));
    }
    Ok(Outcome::of(failed.is_empty()))
}

/// The reference; a form has none, and its measurement is that of the Kotlin service.
fn target(exercise: &Exercise) -> Target {
    match exercise.kind {
        Kind::Form => Target::Exercise(exercise.number),
        _ => Target::Solution(exercise.number),
    }
}

/// Whether a result is there, is valid, and nothing that it's about has changed since.
async fn is_of_this_code(workspace: &Workspace, path: &Path) -> bool {
    let Ok(result) = ResultFile::read(path) else {
        return false;
    };
    let Some(commit) = result.manifest.commit else {
        return false;
    };
    if !result.invalid.is_empty() || result.manifest.dirty == Some(true) {
        return false;
    }
    let mut git = Command::new("git");
    git.args(["diff", "--quiet", &commit, "--"])
        .args(MEASURED)
        .current_dir(workspace.root());
    program::run(git, "")
        .await
        .is_ok_and(|output| output.status.success())
}
