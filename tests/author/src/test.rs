//! `./justw test`: what shows in minutes that the course works on this machine, and what could not be judged on it.

use std::time::Instant;

use anyhow::Context;

use crate::gate::{self, Gate, Judgment, Tally};
use workshop_base::exercise::{Catalogue, Exercise, Kind};
use workshop_base::mistakes::Mistake;
use workshop_base::outcome::Outcome;
use workshop_base::program::{self, cargo_command};
use workshop_base::target::Target;
use workshop_base::terminal::{Style, paint};
use workshop_base::workspace::Workspace;
use workshop_harness::build::{self, Profile};
use workshop_postgres::Server;

/// How many parts there are.
const PARTS: usize = 5;

/// Judges the Kotlin service, the references that no other one grows from, a starter, a mistake per exercise, and the book, after the
/// quick tests of the tool. What needs a program that isn't here is named at the end; CI must have all of them.
pub async fn run(workspace: &Workspace) -> anyhow::Result<Outcome> {
    let started = Instant::now();
    let catalogue = Catalogue::read(workspace)?;
    let part = |number: usize, what: &str| {
        let since = started.elapsed().as_secs();
        let line = format!("[{number}/{PARTS}] {what}");
        println!(
            "\n{} {}",
            paint(Style::Strong, line),
            paint(Style::Faint, format!("({since} s so far)"))
        );
    };

    part(1, "the quick tests of the tool");
    let quick = quick_tests(workspace).await?;

    part(
        2,
        "PostgreSQL, the Kotlin service, and the last states of the references",
    );
    let server = Server::ensure(workspace).await?;
    println!("{}", server.describe());
    let gate = Gate::new(workspace, &server, &catalogue, false)?;
    let last: Vec<&Exercise> = catalogue
        .iter()
        .filter(|exercise| gate.is_a_last_state(exercise))
        .collect();
    let (kotlin, members) = tokio::join!(
        build::build(workspace, Target::Kotlin, Profile::Check),
        build::members(workspace, &last, false),
    );
    kotlin?;
    members?;

    part(3, "the contract, judged on both sides");
    let mut judgments: Vec<(String, Judgment<'_>)> = vec![("kotlin".to_owned(), gate.kotlin())];
    for exercise in &last {
        let reference = gate.reference(exercise).unless(gate.lacks(exercise));
        judgments.push((exercise.reference_name(), reference));
    }
    let mut tally = gate::tell(judgments, true).await?;

    part(
        4,
        "a starter that is red as declared, a planted mistake per exercise that is caught",
    );
    let mut judgments = Vec::new();
    // The first that grows from another is the first that has tests which pass before a line is written.
    let starter = catalogue
        .iter()
        .find(|exercise| exercise.grows_from.is_some());
    for exercise in catalogue
        .iter()
        .filter(|exercise| exercise.kind != Kind::Form)
    {
        if starter == Some(exercise) {
            judgments.push((exercise.name(), gate.starter(exercise)));
        }
        let mistakes = Mistake::all(&exercise.solution(workspace))?;
        let mistake = mistakes.into_iter().find(Mistake::is_caught_by_a_test);
        let mistake = mistake.with_context(|| format!("{} has no mistake", exercise.name()))?;
        let mistake = gate.mistake(exercise, mistake, 0);
        judgments.push((exercise.name(), mistake.unless(gate.lacks(exercise))));
    }
    tally.add(gate::tell(judgments, true).await?);

    part(5, "the book");
    tally.add(gate::tell(vec![("the book".to_owned(), gate.book())], false).await?);

    Ok(said(&tally, quick, started))
}

/// The tests of the tool that build nothing and start nothing for long; true when they pass.
async fn quick_tests(workspace: &Workspace) -> anyhow::Result<bool> {
    let mut cargo = cargo_command();
    cargo
        .args([
            "test",
            "--quiet",
            "--workspace",
            "--exclude",
            "node-*",
            "--lib",
        ])
        .arg("--target-dir")
        .arg(workspace.cargo_target())
        .current_dir(workspace.root());
    let status = program::start(cargo)?.ended().await?;
    Ok(status.success())
}

/// The last lines.
fn said(tally: &Tally, quick: bool, started: Instant) -> Outcome {
    let Tally {
        passed,
        failed,
        not_judged,
        ..
    } = tally;
    if !not_judged.is_empty() {
        println!("\n{} not judged here:", not_judged.len());
        for lack in not_judged {
            println!("  {lack}");
        }
    }
    if !quick {
        println!("\nthe quick tests of the tool failed: see the first part");
    }
    let took = started.elapsed().as_secs();
    println!(
        "\n{passed} passed, {failed} failed, {} skipped",
        not_judged.len()
    );
    println!("took {} min {:02} s", took / 60, took % 60);
    // CI brings what is needed: there, nothing may be left out in silence.
    let all_judged = not_judged.is_empty() || std::env::var_os("CI").is_none();
    match tally.outcome() {
        Outcome::Passed => Outcome::of(quick && all_judged),
        other => other,
    }
}
