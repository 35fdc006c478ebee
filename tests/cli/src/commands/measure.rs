//! `just measure TARGET`: the measurement of an exercise; writes the result, prints the table and the verdict.

use crate::cli::MeasureArgs;
use workshop_base::exercise::Catalogue;
use workshop_base::exercise::Exercise;
use workshop_base::outcome::Outcome;
use workshop_base::outcome::Trouble;
use workshop_base::target::Target;
use workshop_base::workspace::Workspace;
use workshop_measure::protocol::lab;
use workshop_measure::protocol::lab::Lab;
use workshop_measure::protocol::plan::Plan;
use workshop_measure::tasks::article;
use workshop_measure::tasks::cold_start;
use workshop_measure::tasks::export;
use workshop_measure::tasks::guard;
use workshop_measure::tasks::ladder;
use workshop_measure::tasks::library;
use workshop_measure::tasks::load;
use workshop_measure::tasks::load::Wanted;
use workshop_measure::tasks::module;
use workshop_measure::tasks::pool;
use workshop_measure::tasks::program;
use workshop_measure::tasks::stall;
use workshop_measure::tools::hyperfine::Hyperfine;
use workshop_measure::tools::oha::Oha;
use workshop_postgres::datasets::DataSet;
use workshop_results::file::JudgedPrediction;
use workshop_results::file::Mode;
use workshop_results::file::ResultFile;
use workshop_results::predictions;
use workshop_results::view;
use workshop_results::write::text;

/// Measures one target against the Kotlin service; for exercise 1, the Kotlin service alone.
///
/// # Errors
/// When it cannot be measured, or the two do not do the same work.
pub async fn run(workspace: &Workspace, args: &MeasureArgs) -> anyhow::Result<Outcome> {
    let catalogue = Catalogue::read(workspace)?;
    let exercise = exercise(&catalogue, args.target)?;
    let mode = match (args.quick, args.thorough) {
        (true, _) => Mode::Quick,
        (_, true) => Mode::Thorough,
        _ => Mode::Standard,
    };
    let mut result = measure(workspace, exercise, args, mode).await?;
    // The predictions are about the port.
    if !args.reference && exercise.is_port() {
        result.predictions = judged(workspace, &result)?;
    }
    let path = if args.reference {
        ResultFile::reference_path(workspace, &result.exercise)
    } else {
        ResultFile::own_path(workspace, args.target)
    };
    result.write(&path)?;
    text::print(&view::terminal(&result));
    println!(
        "\nwritten to {}",
        path.strip_prefix(workspace.root())
            .unwrap_or(&path)
            .display()
    );
    Ok(if result.invalid.is_empty() {
        Outcome::Passed
    } else {
        Outcome::Failed
    })
}

/// The exercise whose measurement is asked for; the Kotlin service alone is that of exercise 1.
fn exercise(catalogue: &Catalogue, target: Target) -> anyhow::Result<&Exercise> {
    match target {
        Target::Exercise(number) | Target::Solution(number) => catalogue.get(number),
        Target::Kotlin => catalogue
            .iter()
            .find(|exercise| exercise.task() == Some("baseline"))
            .ok_or_else(|| {
                Trouble::new("no exercise measures the Kotlin service alone")
                    .next("just progress")
                    .into()
            }),
    }
}

async fn measure(
    workspace: &Workspace,
    exercise: &Exercise,
    args: &MeasureArgs,
    mode: Mode,
) -> anyhow::Result<ResultFile> {
    let task = exercise.task().ok_or_else(|| {
        let name = exercise.name();
        Trouble::new(format!("{name} has no measurement")).next(format!("just check {name}"))
    })?;
    let wanted = Wanted {
        task: task.to_owned(),
        exercise: exercise.number,
        target: args.target.to_string(),
        mode,
    };
    match task {
        "baseline" => {
            let lab = under_load(workspace, args).await?;
            let subjects = [lab.subject(Target::Kotlin).await?];
            load::measure(&lab, &subjects, &wanted, Plan::baseline(mode)).await
        }
        "reads" => {
            let lab = under_load(workspace, args).await?;
            let subjects = [
                lab.subject(Target::Kotlin).await?,
                lab.subject(args.target).await?,
            ];
            load::measure(&lab, &subjects, &wanted, Plan::reads(mode)).await
        }
        "guard" => {
            let lab = under_load(workspace, args).await?;
            guard::measure(&lab, args.target, &wanted).await
        }
        "stall" => {
            let lab = under_load(workspace, args).await?;
            let subjects = [
                lab.subject(Target::Kotlin).await?,
                lab.subject(args.target).await?,
            ];
            stall::measure(&lab, &subjects, &wanted).await
        }
        "pool" => {
            let lab = under_load(workspace, args).await?;
            pool::measure(&lab, args.target, &wanted).await
        }
        "article" => {
            let lab = under_load(workspace, args).await?;
            article::measure(&lab, args.target, &wanted).await
        }
        "export" => {
            Oha::find(workspace)?;
            let lab =
                Lab::open(workspace, args.data_set.unwrap_or_else(lab::usual_data_set)).await?;
            let subjects = [
                lab.subject(Target::Kotlin).await?,
                lab.subject(args.target).await?,
            ];
            export::measure(&lab, &subjects, &wanted).await
        }
        "module" => {
            Oha::find(workspace)?;
            let lab = Lab::open(workspace, args.data_set.unwrap_or(DataSet::Small)).await?;
            let subjects = [
                lab.subject(Target::Kotlin).await?,
                lab.subject(args.target).await?,
            ];
            module::measure(&lab, &subjects, &wanted).await
        }
        "library" => {
            Oha::find(workspace)?;
            let lab = Lab::open(workspace, args.data_set.unwrap_or(DataSet::Small)).await?;
            let subjects = [
                lab.subject(Target::Kotlin).await?,
                lab.subject(args.target).await?,
            ];
            library::measure(&lab, &subjects, &wanted).await
        }
        "ladder" => {
            Oha::find(workspace)?;
            let lab = Lab::open(workspace, args.data_set.unwrap_or(DataSet::Small)).await?;
            ladder::measure(&lab, args.target, &wanted).await
        }
        "process" => {
            Oha::find(workspace)?;
            Hyperfine::find(workspace)?;
            let lab = Lab::open(workspace, args.data_set.unwrap_or(DataSet::Small)).await?;
            let subjects = [
                lab.subject(Target::Kotlin).await?,
                lab.subject(args.target).await?,
            ];
            program::measure(&lab, &subjects, &wanted).await
        }
        "cold-start" => {
            Hyperfine::find(workspace)?;
            let lab = Lab::open(workspace, args.data_set.unwrap_or(DataSet::Small)).await?;
            let subjects = [
                lab.subject(Target::Kotlin).await?,
                lab.subject(args.target).await?,
            ];
            cold_start::measure(&lab, &subjects, &wanted).await
        }
        unknown => Err(Trouble::new(format!("nothing measures {unknown}"))
            .expected(format!(
                "a task that is known, in the exercise.toml of {}",
                exercise.name()
            ))
            .into()),
    }
}

/// The lab of a measurement by load. The generator is looked for first: data are seeded for minutes.
async fn under_load<'a>(workspace: &'a Workspace, args: &MeasureArgs) -> anyhow::Result<Lab<'a>> {
    Oha::find(workspace)?;
    Lab::open(workspace, args.data_set.unwrap_or_else(lab::usual_data_set)).await
}

/// The reader's predictions held against the result.
fn judged(workspace: &Workspace, result: &ResultFile) -> anyhow::Result<Vec<JudgedPrediction>> {
    let path = predictions::path(workspace)?;
    if !path.is_file() {
        return Ok(Vec::new());
    }
    Ok(predictions::judged_by(&predictions::read(&path)?, result))
}
