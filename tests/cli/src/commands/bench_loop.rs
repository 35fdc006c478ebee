//! `just bench-loop`: how long a learner waits after a one-line edit, step by step, held against its limits.
//!
//! The edit is made in copies of the port's references, so no file of the checkout is touched. The wait is the one until the
//! tests of the first phase have answered. What `just check` runs when these are green is timed once, and has no limit: tests
//! that let time limits of the service pass take seconds whatever the tool does.

use std::fs::OpenOptions;
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context;

use crate::commands::check;
use workshop_base::exercise::Catalogue;
use workshop_base::exercise::Exercise;
use workshop_base::outcome::Outcome;
use workshop_base::outcome::Trouble;
use workshop_base::target::Target;
use workshop_base::terminal::Style;
use workshop_base::terminal::paint;
use workshop_base::workspace::Workspace;
use workshop_harness::build;
use workshop_harness::build::Profile;
use workshop_harness::copies::Copy;
use workshop_harness::report::Report;
use workshop_harness::run::judge_once;
use workshop_postgres::Provider;
use workshop_postgres::Server;

/// Loops that are timed; one more goes before them, to warm everything up.
const LOOPS: usize = 3;
/// The longest that the loop may take outside cargo's build, on a container.
const LIMIT_ON_DOCKER: Duration = Duration::from_millis(1500);
/// The same on a server without a container.
const LIMIT_ELSEWHERE: Duration = Duration::from_millis(1000);
/// The longest that the book may take to build.
const BOOK_LIMIT: Duration = Duration::from_secs(3);
/// The most memory that the tool may have used, in kB.
const MEMORY_LIMIT_KB: u64 = 150 * 1024;

/// Runs the loops and prints what they took.
///
/// # Errors
/// When the reference cannot be built or judged.
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
        let copy = Copy::of(workspace, &exercise.solution(workspace), "bench-loop")?;
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

/// The time in cargo's build, the report of the first phase with the time of all other steps, and, in the last loop, the time of
/// the other phases.
struct Timed {
    build: Duration,
    report: Report,
    later: Duration,
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
    let launch = build::cargo(workspace, copy.krate(), Profile::Check)?;
    let build = started.elapsed();
    let started = Instant::now();
    let server = Server::ensure(workspace).await?;
    let found = started.elapsed();
    let phases = check::phases_of(catalogue, Some(exercise))?;
    let (first, others) = phases.split_first().context("an exercise without tests")?;
    let mut report = judge_once(workspace, &server, &launch, first).await?;
    report.timings.add_first("server", found);
    let target = Target::Solution(exercise.number);
    if report.outcome() != Outcome::Passed {
        report.print();
        let trouble = Trouble::new("the reference is red, so its loop says nothing").failed();
        return Err(trouble.next(format!("just check {target}")).into());
    }
    let mut later = Duration::ZERO;
    if round == LOOPS && !others.is_empty() {
        let started = Instant::now();
        for phase in others {
            judge_once(workspace, &server, &launch, phase).await?;
        }
        later = started.elapsed();
    }
    Ok(Timed {
        build,
        report,
        later,
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

/// Prints what the loops of an exercise took, and whether that is within the limit.
fn tell_loops(exercise: &Exercise, loops: &[Timed], tool: Duration, provider: Provider) -> bool {
    println!("{}", paint(Style::Strong, exercise.name()));
    let builds = loops.iter().map(|timed| timed.build);
    row("cargo's build of the crate", median(builds.collect()));
    let mut outside = tool;
    let steps = loops
        .first()
        .map_or(&[][..], |timed| timed.report.timings.steps());
    for (index, (step, _)) in steps.iter().enumerate() {
        let took = loops
            .iter()
            .filter_map(|timed| timed.report.timings.steps().get(index))
            .map(|(_, took)| *took);
        let took = median(took.collect());
        row(step, took);
        outside += took;
    }
    let later = loops.last().map_or(Duration::ZERO, |timed| timed.later);
    if !later.is_zero() {
        row("all other tests, afterwards", later);
    }
    let limit = if provider == Provider::Docker {
        LIMIT_ON_DOCKER
    } else {
        LIMIT_ELSEWHERE
    };
    hold(
        "outside cargo's build",
        &format!("{}, limit {}", seconds(outside), seconds(limit)),
        outside <= limit,
    )
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
