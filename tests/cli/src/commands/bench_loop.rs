//! `just bench-loop`: how long a learner waits after a one-line edit, compared with the limits.
//!
//! The edit is made in copies of the port's references, so no file of the checkout is touched. One limit is for the wait until
//! the tests of the first phase have answered; the other is for the whole check when all is green. Cargo's build counts for neither.

use std::fs::OpenOptions;
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context;

use crate::commands::check;
use workshop_base::exercise::{Catalogue, Exercise};
use workshop_base::outcome::{Outcome, Trouble};
use workshop_base::process;
use workshop_base::target::Target;
use workshop_base::terminal::{Style, finding, paint};
use workshop_base::workspace::Workspace;
use workshop_book::render::render;
use workshop_harness::build::{self, Profile};
use workshop_harness::copies::Copy;
use workshop_harness::report::Timings;
use workshop_harness::run::judge_phases;
use workshop_harness::scenarios::Place;
use workshop_postgres::{Provider, Server};

/// Loops that are timed; one more goes before them, to warm everything up.
const LOOPS: usize = 3;
/// The longest that the loop may take outside cargo's build, on a container.
const LIMIT_ON_DOCKER: Duration = Duration::from_millis(1500);
/// The same on a server without a container.
const LIMIT_ELSEWHERE: Duration = Duration::from_millis(1000);
/// The longest that a whole check may take when all is green.
const WHOLE_LIMIT: Duration = Duration::from_secs(8);
/// The longest that the book may take to build.
const BOOK_LIMIT: Duration = Duration::from_secs(3);
/// The most memory that the tool may have used, in kB.
const MEMORY_LIMIT_KB: u64 = 150 * 1024;

/// Runs the loops and prints what they took.
pub async fn run(workspace: &Workspace) -> anyhow::Result<Outcome> {
    let catalogue = Catalogue::read(workspace)?;
    let limit = match Server::ensure(workspace).await?.provider() {
        Provider::Docker => LIMIT_ON_DOCKER,
        _ => LIMIT_ELSEWHERE,
    };
    println!(
        "median of {LOOPS} loops after a one-line edit, everything warm, until the first tests have answered"
    );
    let tool = tool_start(workspace)?;
    row("the tool's start", tool);
    let mut held = Vec::new();
    let port = catalogue
        .iter()
        .filter(|exercise| exercise.is_port() && exercise.is_crate());
    for exercise in port {
        let copy = Copy::of(workspace, &exercise.solution(workspace), "bench-loop").await?;
        let [mut builds, mut firsts] = [Vec::new(), Vec::new()];
        let mut last = one_loop(workspace, &catalogue, exercise, &copy, false).await?;
        for round in 1..=LOOPS {
            // The whole check is timed once.
            last = one_loop(workspace, &catalogue, exercise, &copy, round == LOOPS).await?;
            builds.push(last.build);
            firsts.push(last.first);
        }
        println!("{}", paint(Style::Strong, exercise.name()));
        row("cargo's build of the crate", median(builds));
        let first = tool + median(firsts);
        held.push(within(
            "the first tests, beside cargo's build",
            first,
            limit,
        ));
        println!("          {}", last.timings);
        let whole = tool + last.whole;
        held.push(within(
            "a whole green check, beside cargo's build",
            whole,
            WHOLE_LIMIT,
        ));
    }
    println!("{}", paint(Style::Strong, "the book and the tool"));
    held.push(within(
        "the book's build",
        book_build(workspace)?,
        BOOK_LIMIT,
    ));
    match process::peak_kb(std::process::id()) {
        Some(kb) => {
            let figure = format!("{} MB, limit {} MB", kb / 1024, MEMORY_LIMIT_KB / 1024);
            let what = format!("the tool's peak memory: {figure}");
            held.push(finding(&what, kb <= MEMORY_LIMIT_KB));
        }
        None => {
            println!("  note  the tool's peak memory: this system has no /proc to read it from");
        }
    }
    Ok(Outcome::of(held.into_iter().all(|holds| holds)))
}

/// What one loop took: in cargo's build, and after it until the first tests have answered and until the check has ended.
struct Timed {
    build: Duration,
    first: Duration,
    whole: Duration,
    timings: Timings,
}

async fn one_loop(
    workspace: &Workspace,
    catalogue: &Catalogue,
    exercise: &Exercise,
    copy: &Copy,
    to_the_end: bool,
) -> anyhow::Result<Timed> {
    let mut source = OpenOptions::new()
        .append(true)
        .open(copy.krate().folder.join("src/main.rs"))?;
    writeln!(source, "// an edit")?;
    drop(source);
    let started = Instant::now();
    let launch = build::cargo(workspace, copy.krate(), Profile::Check).await?;
    let build = started.elapsed();

    let started = Instant::now();
    let server = Server::ensure(workspace).await?;
    let phases = check::phases_of(catalogue, Some(exercise))?;
    let place = Place {
        workspace,
        server: &server,
        launch: &launch,
    };
    let mut first = None;
    let report = judge_phases(place, &phases, |found| {
        first.get_or_insert_with(|| started.elapsed());
        found.failed().is_empty() && to_the_end
    })
    .await?;
    let whole = started.elapsed();
    if report.outcome() != Outcome::Passed {
        report.print();
        let target = Target::Solution(exercise.number);
        return Trouble::new("the reference is red, so its loop says nothing")
            .next(format!("just check {target}"))
            .failed()
            .err();
    }
    Ok(Timed {
        build,
        first: first.context("an exercise without tests")?,
        whole,
        timings: report.timings,
    })
}

/// What goes before any work: a look whether the tool is to be built, and its start.
fn tool_start(workspace: &Workspace) -> anyhow::Result<Duration> {
    let tool = std::env::current_exe().context("the tool cannot find its own program")?;
    let justw = workspace.root().join("justw");
    let mut took = Vec::new();
    for round in 0..=LOOPS {
        let started = Instant::now();
        for (program, argument) in [(&justw, "--tool"), (&tool, "--help")] {
            let status = Command::new(program)
                .arg(argument)
                .stdout(Stdio::null())
                .status()
                .with_context(|| format!("{} cannot be run", program.display()))?;
            anyhow::ensure!(
                status.success(),
                "{} ended with {status}",
                program.display()
            );
        }
        if round > 0 {
            took.push(started.elapsed());
        }
    }
    Ok(median(took))
}

/// The second of two builds, since the first one warms everything up.
fn book_build(workspace: &Workspace) -> anyhow::Result<Duration> {
    let destination = tempfile::tempdir()?;
    render(workspace, Some(destination.path()))?;
    let started = Instant::now();
    render(workspace, Some(destination.path()))?;
    Ok(started.elapsed())
}

/// Prints what something took beside its limit, and gives whether it is within.
pub(super) fn within(what: &str, took: Duration, limit: Duration) -> bool {
    let (took_s, limit_s) = (took.as_secs_f64(), limit.as_secs_f64());
    let what = format!("{what}: {took_s:.2} s, limit {limit_s:.2} s");
    finding(&what, took <= limit)
}

fn row(step: &str, took: Duration) {
    println!("  {step:<32} {:>8.3} s", took.as_secs_f64());
}

fn median(mut values: Vec<Duration>) -> Duration {
    values.sort();
    values.get(values.len() / 2).copied().unwrap_or_default()
}
