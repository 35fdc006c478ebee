//! `just tour`: the main job in one go. Database and data, Kotlin and the reference side by side, checked, measured, and
//! the book with what came out.

use std::io::IsTerminal;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::Context;

use crate::doctor;
use crate::judge;
use crate::programs::Sibling;

use workshop_base::exercise::{Catalogue, Exercise};
use workshop_base::outcome::{Outcome, Trouble};
use workshop_base::program;
use workshop_base::target::Target;
use workshop_base::terminal::{Style, paint};
use workshop_base::workspace::Workspace;
use workshop_harness::build::{self, Profile};
use workshop_harness::scenarios::Place;
use workshop_postgres::Server;
use workshop_postgres::datasets::{self, DataSet};

/// Large enough to be read at random, small enough to be made in seconds.
const DATA_SET: DataSet = DataSet::Pi;

/// Goes through the steps; stops at the first that fails, and before them where the doctor finds something to fix.
pub async fn run(workspace: &Workspace) -> anyhow::Result<Outcome> {
    let started = Instant::now();
    let ready = doctor::look(workspace).await?;
    if ready != Outcome::Passed {
        return Ok(ready);
    }
    let oha = bring_oha(workspace)?;
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

    // Kotlin first, and judged before cargo begins to optimize: that takes minutes from nothing.
    // Both keep what the measurement is about; Kotlin is judged by the whole contract in `./justw test`.
    for (number, target) in [(3, Target::Kotlin), (4, reference)] {
        step(
            number,
            &format!("{target}: built as it would be shipped, and checked"),
        );
        let launch = build::build(workspace, target, Profile::Measure).await?;
        let place = Place {
            workspace,
            server: &server,
            launch: &launch,
        };
        let report = judge::judge_launch(place, &catalogue, Some(exercise)).await?;
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
    wait_for(oha).await?;
    let (target, data_set) = (reference.to_string(), DATA_SET.to_string());
    let quick = ["measure", &target, "--quick", "--data-set", &data_set];
    let measured = Sibling::Lab.run(workspace, &quick).await?;
    if measured == Outcome::CouldNotJudge {
        return Ok(measured);
    }

    step(6, "the book, with these figures in it");
    let shown = Sibling::Book.run(workspace, &["book"]).await?;
    if shown != Outcome::Passed {
        return Ok(shown);
    }
    open(&workspace.root().join("book-html/your-results.html"));
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

/// Begins to bring what measures reads. If it has to be compiled, that takes minutes, and no core from anything else.
fn bring_oha(workspace: &Workspace) -> Result<program::Program, Trouble> {
    let mut nice = Command::new("nice");
    nice.args(["-n", "19"])
        .arg(workspace.root().join("justw"))
        .args(["--bring", "oha"])
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    program::start(nice)
}

async fn wait_for(mut oha: program::Program) -> anyhow::Result<()> {
    if oha.child.try_wait()?.is_none() {
        println!("oha, which makes the load, is still being compiled: some minutes");
    }
    if oha.ended().await?.success() {
        return Ok(());
    }
    Trouble::new("oha, which makes the load, could not be brought")
        .next("./justw --bring oha, which says why; then ./justw tour again")
        .err()
}

/// Shows a page in the browser where somebody sees it. Best effort: the page is named as well.
fn open(page: &Path) {
    let has_a_screen = || ["DISPLAY", "WAYLAND_DISPLAY"].map(std::env::var_os) != [None, None];
    let opener = match cfg!(target_os = "macos") {
        true => "open",
        false if has_a_screen() => "xdg-open",
        false => return,
    };
    if std::io::stdout().is_terminal() {
        let mut browser = Command::new(opener);
        let _ = browser.arg(page).stderr(Stdio::null()).spawn();
    }
}
