//! `just tour`: the main job in one go. Database and data, Kotlin and the reference side by side, checked, measured, and
//! the book with what came out.

use std::process::Command;
use std::time::Instant;

use anyhow::Context;

use crate::cli::{MeasureArgs, ResultArgs};
use crate::commands::measure;
use crate::judge;

use workshop_base::exercise::{Catalogue, Exercise};
use workshop_base::outcome::{Outcome, Trouble};
use workshop_base::program;
use workshop_base::target::Target;
use workshop_base::terminal::{Style, paint};
use workshop_base::workspace::Workspace;
use workshop_book::render::render;
use workshop_harness::build::{self, Profile};
use workshop_harness::scenarios::Place;
use workshop_postgres::Server;
use workshop_postgres::datasets::{self, DataSet};

/// Large enough to be read at random, small enough to be made in seconds.
const DATA_SET: DataSet = DataSet::Pi;

/// Goes through the steps; stops at the first that fails.
pub async fn run(workspace: &Workspace) -> anyhow::Result<Outcome> {
    let started = Instant::now();
    let catalogue = Catalogue::read(workspace)?;
    let exercise = measured_exercise(&catalogue)?;
    let reference = Target::Solution(exercise.number);

    step(1, "PostgreSQL");
    let server = Server::ensure(workspace).await?;
    println!("{}", server.describe());

    step(
        2,
        &format!("the data: {DATA_SET}, {} rows", DATA_SET.rows()),
    );
    let seeded = datasets::seed(&server, workspace, DATA_SET).await?;
    let (rows, fingerprint) = (seeded.set.rows(), seeded.set.fingerprint());
    println!("{rows} rows, fingerprint {fingerprint}");

    step(
        3,
        &format!("building both services: kotlin and {reference}, as they would be shipped"),
    );
    let kotlin = build::build(workspace, Target::Kotlin, Profile::Measure).await?;
    let rust = build::build(workspace, reference, Profile::Measure).await?;

    step(4, "the same contract, checked on both");
    // Both keep what the measurement is about; Kotlin is judged by the whole contract in `./justw test`.
    for (target, launch) in [(Target::Kotlin, &kotlin), (reference, &rust)] {
        let place = Place {
            workspace,
            server: &server,
            launch,
        };
        let report = judge::judge_launch(place, &catalogue, Some(exercise)).await?;
        println!("{target}");
        report.print();
        if report.outcome() != Outcome::Passed {
            return Trouble::new(format!("{target} does not keep the contract"))
                .expected("an unchanged checkout: both services are the course's own")
                .next(format!("git status; just check {target}"))
                .failed()
                .err();
        }
    }

    step(
        5,
        "the same work, measured on both (a quick run, for orientation)",
    );
    bring_oha(workspace).await?;
    let args = MeasureArgs {
        long: None,
        target: Some(reference),
        quick: true,
        thorough: false,
        peers: false,
        at: None,
        key: None,
        result: ResultArgs {
            data_set: Some(DATA_SET),
            reference: false,
        },
    };
    let measured = measure::run(workspace, &args).await?;

    step(6, "the book, with these figures in it");
    render(workspace, None)?;
    println!(
        "book-html/index.html is its first page; your figures are on the page of {} and on \"Your results\"",
        exercise.name()
    );

    println!(
        "\nthe tour took {} s; next: {}",
        started.elapsed().as_secs(),
        paint(Style::Strong, "just serve, and the page \"Setting up\"")
    );
    Ok(measured)
}

/// The newest exercise that measures reads.
fn measured_exercise(catalogue: &Catalogue) -> anyhow::Result<&Exercise> {
    let reads = |exercise: &&Exercise| exercise.task() == Some("reads");
    catalogue
        .iter()
        .filter(reads)
        .last()
        .context("no exercise measures reads")
}

fn step(number: usize, what: &str) {
    println!("\n{}", paint(Style::Strong, format!("[{number}/6] {what}")));
}

/// Waits for what measures reads, which `justw` has been compiling since the tour began, or brings it now.
async fn bring_oha(workspace: &Workspace) -> anyhow::Result<()> {
    let mut justw = Command::new(workspace.root().join("justw"));
    justw.args(["--bring", "oha"]);
    if program::start(justw)?.ended().await?.success() {
        return Ok(());
    }
    Trouble::new("oha, which measures, could not be brought")
        .next("./justw --bring oha; the messages above say why")
        .err()
}
