//! `just bench-loop`: how long a learner waits after a one-line edit, held against the limits.
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
use workshop_base::target::Target;
use workshop_base::terminal::{Style, paint};
use workshop_base::workspace::Workspace;
use workshop_harness::build::{self, Profile};
use workshop_harness::copies::Copy;
use workshop_harness::report::Report;
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
    let provider = Server::ensure(workspace).await?.provider();
    let tool = tool_start(workspace)?;
    println!(
        "median of {LOOPS} loops after a one-line edit, everything warm, until the first tests have answered"
    );
    row("the tool's start", tool);
    let mut held = Vec::new();
    let port = catalogue
        .iter()
        .filter(|exercise| exercise.is_port() && exercise.is_crate());
    for exercise in port {
        let copy = Copy::of(workspace, &exercise.solution(workspace), "bench-loop").await?;
        let mut loops = Vec::new();
        for round in 0..=LOOPS {
            let timed = one_loop(workspace, &catalogue, exercise, &copy, round).await?;
            if round > 0 {
                loops.push(timed);
            }
        }
        held.push(tell_loops(exercise, &loops, tool, provider));
    }
    held.extend(tell_the_rest(book_build(workspace)?));
    Ok(if held.into_iter().all(|holds| holds) {
        Outcome::Passed
    } else {
        Outcome::Failed
    })
}

/// What one loop took: in cargo's build, and after it until the first tests have answered and until the check has ended.
struct Timed {
    build: Duration,
    first: Duration,
    whole: Duration,
    report: Report,
}

async fn one_loop(
    workspace: &Workspace,
    catalogue: &Catalogue,
    exercise: &Exercise,
    copy: &Copy,
    round: usize,
) -> anyhow::Result<Timed> {
    let mut source = OpenOptions::new()
        .append(true)
        .open(copy.krate().folder.join("src/main.rs"))?;
    writeln!(source, "// edit {round}")?;
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
        // The whole check is timed once.
        found.failed().is_empty() && round == LOOPS
    })
    .await?;
    let whole = started.elapsed();
    if report.outcome() != Outcome::Passed {
        report.print();
        let target = Target::Solution(exercise.number);
        let trouble = Trouble::new("the reference is red, so its loop says nothing").failed();
        return Err(trouble.next(format!("just check {target}")).into());
    }
    Ok(Timed {
        build,
        first: first.context("an exercise without tests")?,
        whole,
        report,
    })
}

/// What goes before any work: a look whether the tool is to be built, and its start.
fn tool_start(workspace: &Workspace) -> anyhow::Result<Duration> {
    let tool = std::env::current_exe().context("the tool does not find itself")?;
    let mut took = Vec::new();
    for round in 0..=LOOPS {
        let started = Instant::now();
        let look = Command::new(workspace.root().join("justw"))
            .arg("--tool")
            .status()
            .context("justw cannot be run")?;
        anyhow::ensure!(look.success(), "justw --tool ended with {look}");
        let start = Command::new(&tool)
            .arg("--help")
            .stdout(Stdio::null())
            .status()
            .context("the tool cannot be run")?;
        anyhow::ensure!(start.success(), "the tool ended with {start}");
        if round > 0 {
            took.push(started.elapsed());
        }
    }
    Ok(median(took))
}

fn book_build(workspace: &Workspace) -> anyhow::Result<Duration> {
    let destination = tempfile::tempdir()?;
    let build = || -> anyhow::Result<Duration> {
        let started = Instant::now();
        let status = Command::new("mdbook")
            .args(["build", "--dest-dir"])
            .arg(destination.path())
            .current_dir(workspace.root())
            .stderr(Stdio::null())
            .status()
            .map_err(|error| {
                Trouble::new(format!("mdbook cannot be run: {error}"))
                    .next("./justw --bring mdbook")
            })?;
        anyhow::ensure!(status.success(), "mdbook build ended with {status}");
        Ok(started.elapsed())
    };
    build()?;
    build()
}

/// Prints what the loops of an exercise took, and whether that is within the limits.
fn tell_loops(exercise: &Exercise, loops: &[Timed], tool: Duration, provider: Provider) -> bool {
    println!("{}", paint(Style::Strong, exercise.name()));
    let builds = loops.iter().map(|timed| timed.build);
    row("cargo's build of the crate", median(builds.collect()));
    let first = median(loops.iter().map(|timed| timed.first).collect());
    let outside = tool + first;
    let limit = if provider == Provider::Docker {
        LIMIT_ON_DOCKER
    } else {
        LIMIT_ELSEWHERE
    };
    let soon = hold(
        "the first tests, beside cargo's build",
        &format!("{}, limit {}", seconds(outside), seconds(limit)),
        outside <= limit,
    );
    let Some(last) = loops.last() else {
        return soon;
    };
    println!("          {}", last.report.timings);
    let whole = tool + last.whole;
    let figure = format!("{}, limit {}", seconds(whole), seconds(WHOLE_LIMIT));
    hold(
        "a whole green check, beside cargo's build",
        &figure,
        whole <= WHOLE_LIMIT,
    ) && soon
}

/// Prints the same of the book and of the tool's memory.
fn tell_the_rest(book: Duration) -> Vec<bool> {
    println!("{}", paint(Style::Strong, "the book and the tool"));
    let mut held = vec![hold(
        "the book's build",
        &format!("{}, limit {}", seconds(book), seconds(BOOK_LIMIT)),
        book <= BOOK_LIMIT,
    )];
    match peak_memory_kb() {
        Some(kb) => {
            let figure = format!("{} MB, limit {} MB", kb / 1024, MEMORY_LIMIT_KB / 1024);
            held.push(hold(
                "the tool's peak memory",
                &figure,
                kb <= MEMORY_LIMIT_KB,
            ));
        }
        None => {
            println!("  note  the tool's peak memory: this system has no /proc to read it from")
        }
    }
    held
}

fn hold(what: &str, figure: &str, holds: bool) -> bool {
    let word = if holds {
        paint(Style::Good, "ok")
    } else {
        paint(Style::Bad, "FAIL")
    };
    println!("{word:>6}  {what}: {figure}");
    holds
}

fn seconds(duration: Duration) -> String {
    format!("{:.2} s", duration.as_secs_f64())
}

fn row(step: &str, took: Duration) {
    println!("  {step:<32} {:>8.3} s", took.as_secs_f64());
}

fn median(mut values: Vec<Duration>) -> Duration {
    values.sort();
    values.get(values.len() / 2).copied().unwrap_or_default()
}

/// The largest resident size that this process has had, in kB (`VmHWM`, proc_pid_status(5)).
fn peak_memory_kb() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}
