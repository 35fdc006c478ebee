//! `just measure TARGET`: the measurement of an exercise; writes the result, prints the table and the verdict.

use std::path::{Path, PathBuf};

use anyhow::Context;

use workshop::cli::{MeasureArgs, ResultArgs};
use workshop_base::exercise::{Catalogue, Exercise};
use workshop_base::files;
use workshop_base::outcome::{Outcome, Trouble};
use workshop_base::target::Target;
use workshop_base::workspace::Workspace;
use workshop_measure::protocol::rows::Asked;
use workshop_measure::protocol::session;
use workshop_postgres::datasets::DataSet;
use workshop_results::file::{Mode, ResultFile};
use workshop_results::predictions::{self, Prediction};
use workshop_results::view;
use workshop_results::view::Item;
use workshop_results::write::text;
use workshop_tasks as tasks;
use workshop_tasks::at::ServiceAt;

/// The measurement of the Kotlin service alone.
const BASELINE: &str = "baseline";

/// Measures one target against the Kotlin service; for exercise 1, the Kotlin service alone.
pub async fn run(workspace: &Workspace, args: &MeasureArgs) -> anyhow::Result<Outcome> {
    let target = args.target.context("there is no target")?;
    let catalogue = Catalogue::read(workspace)?;
    let exercise = exercise(&catalogue, target)?;
    let task = exercise.task().ok_or_else(|| {
        Trouble::new(format!("{} has nothing to measure", exercise.name())).next("just progress")
    })?;
    let asked = Asked {
        task: task.to_owned(),
        exercise: exercise.number,
        target,
        mode: match (args.quick, args.thorough) {
            (true, _) => Mode::Quick,
            (_, true) => Mode::Thorough,
            _ => Mode::Standard,
        },
        rounds: args.rounds,
        peers: args.peers,
    };
    if args.peers && !tasks::has_peers(task)? {
        return Trouble::new(format!("{} has no rows of other services", exercise.name()))
            .expected("exercise-8, whose measurement has them")
            .next(format!("just measure {target}"))
            .err();
    }
    if let Some(url) = &args.at {
        let place = ServiceAt {
            url,
            key: &args.key.clone().unwrap_or_else(session::key),
            data_set: args.result.data_set.unwrap_or(DataSet::Full),
        };
        let table = tasks::at::measure(workspace, &asked, &place).await?;
        text::print(&[Item::Table(table)]);
        return Ok(Outcome::Passed);
    }
    // The predictions are about the port. A form that can't be read is better known before the minutes that a measurement takes.
    let predictions = match !args.result.reference && exercise.is_port() {
        true => predicted(workspace)?,
        false => Vec::new(),
    };
    let mut result = tasks::measure(workspace, &asked, args.result.data_set).await?;
    result.predictions = predictions::judged_by(&predictions, &result);
    let name = match args.result.reference {
        true => result.exercise.clone(),
        false => target.to_string(),
    };
    write(workspace, &result, &place(workspace, &args.result, &name))?;
    Ok(Outcome::of(result.invalid.is_empty()))
}

/// Where a result of this name belongs.
pub(crate) fn place(workspace: &Workspace, args: &ResultArgs, name: &str) -> PathBuf {
    match args.reference {
        true => ResultFile::reference_path(workspace, name),
        false => workspace.own_result(name),
    }
}

/// Writes a result, shows it, and says where it is.
pub(crate) fn write(workspace: &Workspace, result: &ResultFile, path: &Path) -> anyhow::Result<()> {
    result.write(path)?;
    text::print(&view::terminal(result));
    println!("\nwritten to {}", files::shown(workspace, path));
    Ok(())
}

/// The exercise whose measurement is asked for; the Kotlin service alone is that of exercise 1.
fn exercise(catalogue: &Catalogue, target: Target) -> anyhow::Result<&Exercise> {
    match catalogue.of(target)? {
        Some(exercise) => Ok(exercise),
        None => catalogue.first_measured_by(BASELINE),
    }
}

/// The reader's predictions; none in a course without exercise 1.
fn predicted(workspace: &Workspace) -> anyhow::Result<Vec<Prediction>> {
    match predictions::path(workspace) {
        Ok(path) if path.is_file() => predictions::read(&path),
        _ => Ok(Vec::new()),
    }
}
