//! What TLS to the database costs: both services by plain text and by TLS, against a server of its own that speaks both.
//!
//! cargo run --package workshop-tasks --example tls -- book/reference-results/tls.toml

mod published;

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::Context;
use published::{Published, Row};
use workshop_base::program::cargo_command;
use workshop_base::scratch;
use workshop_base::target::Target;
use workshop_base::workspace::Workspace;
use workshop_measure::protocol::block;
use workshop_measure::protocol::experiment::{Asked, Experiment};
use workshop_measure::protocol::lab::Lab;
use workshop_measure::protocol::metrics;
use workshop_postgres::Server;
use workshop_postgres::datasets::DataSet;
use workshop_results::file::{Mode, ResultFile};
use workshop_results::shown::Cell;

/// The exercise whose reference is measured.
const EXERCISE: u8 = 8;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let quick = arguments.iter().any(|argument| argument == "--quick");
    arguments.retain(|argument| argument != "--quick");
    let file = arguments.first().context("where shall the table go?")?;
    let workspace = Workspace::find()?;
    // A server of its own: TLS that is switched on stays on.
    let folder = scratch::folder()?;
    let checkout = Workspace::at(folder.path().canonicalize()?);
    let mode = if quick { Mode::Quick } else { Mode::Standard };
    let measured = tokio::select! {
        measured = measured(&workspace, &checkout, mode) => measured,
        _ = tokio::signal::ctrl_c() => Err(anyhow::anyhow!("interrupted")),
    };
    workshop_postgres::clean(&checkout, false).await?;
    let mut published = table(&measured?)?;
    if !quick {
        builds(&workspace, folder.path(), &mut published)?;
    }
    published.write(Path::new(file))
}

/// The interleaved blocks and the duets.
async fn measured(
    workspace: &Workspace,
    checkout: &Workspace,
    mode: Mode,
) -> anyhow::Result<ResultFile> {
    let asked = Asked {
        task: "tls".to_owned(),
        exercise: EXERCISE,
        target: Target::Solution(EXERCISE),
        mode,
        peers: false,
    };
    let server = Server::ensure(checkout).await?;
    let certificate = server.speak_tls(&checkout.state().join("tls")).await?;
    let mut lab = Lab::on(workspace, server, DataSet::Small).await?;
    let certificate = certificate.file.display();
    let tls_url = format!(
        "{}?sslmode=verify-full&sslrootcert={certificate}",
        lab.database_url
    );
    // A service that is not told speaks TLS where it can.
    lab.database_url.push_str("?sslmode=disable");
    let mut experiment = Experiment::begin(&lab, &asked, &asked.task).await?;
    experiment.session.tls_url = Some(tls_url);
    let path = experiment.session.records();
    experiment.show_load(&path);
    experiment.same_work().await?;
    let definitions = metrics::closed("load")?;
    let steps = |plan: &_, rates: &[_]| block::steps(plan, &path, rates);
    experiment
        .compare(&path, steps, |_| Ok(definitions))
        .await?;
    experiment.finish().await
}

fn table(result: &ResultFile) -> anyhow::Result<Published> {
    let table = result.tables.first().context("there is no table")?;
    anyhow::ensure!(result.invalid.is_empty(), "invalid: {:?}", result.invalid);
    let versions = &result.manifest.versions;
    // `openjdk version "25.0.3" 2026-04-21 LTS`: the number says enough.
    let number = |name: &str| {
        let words = versions.get(name)?.split([' ', '"']);
        words
            .into_iter()
            .find(|word| word.starts_with(|first: char| first.is_ascii_digit()))
    };
    let named = [
        ("PostgreSQL", "postgresql"),
        ("Rust", "rustc"),
        ("JDK", "jdk"),
    ];
    let named = named
        .iter()
        .filter_map(|(title, name)| Some(format!("{title} {}", number(name)?)));
    let commit = result
        .manifest
        .commit
        .iter()
        .map(|commit| format!("commit {commit}"));
    let versions: Vec<String> = named.chain(commit).collect();
    let day = result.taken_at.split('T').next().unwrap_or_default();
    let rows = table.rows.iter().map(|row| Row {
        heading: row.heading.clone(),
        values: row.cells.iter().map(shown).collect(),
    });
    Ok(Published {
        lead: "Measured".to_owned(),
        about: format!(
            "{}, {day}, {}. Both services by plain text and by TLS 1.3 with `sslmode=verify-full`, {} interleaved blocks each; CPU per request by duets of {} s. Start-up is from the start of the process to the first record, with the first connections.",
            result.machine,
            versions.join(", "),
            result.manifest.blocks,
            workshop_measure::protocol::duet::BLOCK.as_secs(),
        ),
        title: table.title.clone(),
        corner: table.corner.clone(),
        columns: table
            .columns
            .iter()
            .map(|column| match column.heading.starts_with('÷') {
                true => "÷ plain text".to_owned(),
                false => column.heading.clone(),
            })
            .collect(),
        row: rows.collect(),
    })
}

/// TOML knows no empty value.
fn shown(cell: &Cell) -> Cell {
    match cell {
        Cell::Empty => Cell::text(""),
        cell => cell.clone(),
    }
}

/// What the feature adds to a build: two columns, with a value for the rows of Rust.
fn builds(workspace: &Workspace, folder: &Path, table: &mut Published) -> anyhow::Result<()> {
    table
        .columns
        .extend(["Crates", "Build (s)"].map(str::to_owned));
    let how = " Crates, and the seconds of a release build from nothing, are of Rust alone.";
    table.about.push_str(how);
    for row in &mut table.row {
        let features = match row.heading.as_str() {
            "Rust, TLS" => "tls",
            "Rust, plain text" => "",
            _ => {
                row.values.extend([Cell::text(""), Cell::text("")]);
                continue;
            }
        };
        let package = format!("solution-{EXERCISE}");
        let cargo = |arguments: &[&str]| {
            let mut cargo = cargo_command();
            cargo
                .args(arguments)
                .args(["--package", &package, "--features", features])
                .current_dir(workspace.root());
            cargo
        };
        let tree = said(cargo(&[
            "tree",
            "--edges",
            "normal,build",
            "--prefix",
            "none",
            "--format",
            "{p}",
        ]))?;
        let mut crates: Vec<&str> = tree
            .lines()
            .map(|line| line.trim_end_matches(" (*)"))
            .collect();
        crates.sort_unstable();
        crates.dedup();
        println!("building {} from nothing", row.heading);
        let target = tempfile::tempdir_in(folder)?;
        let began = Instant::now();
        let mut build = cargo(&["build", "--release", "--quiet"]);
        build
            .arg("--config")
            .arg(workspace.root().join("solutions/08-ship-it/profile.toml"))
            .arg("--target-dir")
            .arg(target.path());
        said(build)?;
        let took = began.elapsed().as_secs_f64();
        row.values
            .extend([Cell::Count(crates.len() as u64), Cell::Number(took)]);
    }
    Ok(())
}

fn said(mut command: Command) -> anyhow::Result<String> {
    let output = command.output()?;
    anyhow::ensure!(
        output.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8(output.stdout)?)
}
