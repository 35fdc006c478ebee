//! The measurements: one file per task, and the registry that knows them by the name in `exercise.toml`.
//!
//! A task says what it loads and what it varies; how that is compared is in `workshop-measure`. `tables/` is what a task
//! shows that is not a table of sides by metrics, [`energy`] is where joules come from, and [`endurance`] takes hours.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "the numbers of a test run are small, and figures are rounded for people"
)]

mod article;
pub mod at;
pub mod calibration;
mod calls;
pub mod codes;
mod cold_start;
mod contacts;
pub mod endurance;
pub mod energy;
mod export;
mod guard;
mod heap;
mod kotlin_rows;
mod ladder;
mod open_loop;
mod paging;
mod peers;
mod pool;
mod program;
mod reads;
mod reports;
mod rolling_out;
mod sites;
mod stall;
mod tables;
mod taking_over;
mod telemetry;
mod tokens;
mod waiting;

use std::pin::Pin;

use workshop_base::outcome::Trouble;
use workshop_base::workspace::Workspace;
use workshop_measure::protocol::lab::{self, Lab};
use workshop_measure::protocol::rows::{self, Asked, Row};
use workshop_measure::tools;
use workshop_postgres::datasets::{DataSet, RunDatabase};
use workshop_results::file::{Mode, ResultFile};

/// A measurement that runs to its result.
type RunningTask<'a> = Pin<Box<dyn Future<Output = anyhow::Result<ResultFile>> + 'a>>;

/// What is known of a task before it runs.
struct Task {
    /// Its name in `exercise.toml`.
    name: &'static str,
    /// What it reads.
    data: Data,
    /// What a port must answer with 200 before it is worth a release build.
    first: &'static str,
    /// The programs that it needs.
    tools: &'static [&'static str],
    run: for<'a> fn(&'a Lab<'a>, &'a Asked) -> RunningTask<'a>,
}

#[derive(Clone, Copy)]
enum Data {
    /// The article's records.
    Records,
    /// Hardly any.
    Few,
    /// None: each service makes tables of its own, in a database of its own.
    Own,
}
use Data::{Few, Own, Records};

macro_rules! tasks {
    ($($name:literal $data:ident $first:literal $tools:expr => $run:path),+ $(,)?) => {
        &[$(Task {
            name: $name,
            data: $data,
            first: $first,
            tools: &$tools,
            run: |lab, asked| Box::pin($run(lab, asked)),
        }),+]
    };
}

const TASKS: &[Task] = tasks! {
    "baseline" Records "/read/1" ["oha"] => reads::measure,
    "cold-start" Few "/ready" [] => cold_start::measure,
    "reads" Records "/read/1" ["oha"] => reads::measure,
    "guard" Records "/read/1" ["oha"] => guard::measure,
    "stall" Records "/read/1" ["oha"] => stall::measure,
    "pool" Records "/read/1" ["oha"] => pool::measure,
    "export" Records "/records?limit=1" ["curl"] => export::measure,
    "article" Records "/read/1" ["oha"] => article::measure,
    "best" Records "/read/1" ["oha"] => reads::measure,
    "process" Few "/qrcode?text=a" ["oha", "hyperfine"] => program::measure,
    "module" Few "/qrcode?text=a" ["oha"] => calls::module,
    "library" Few "/qrcode?text=a" ["oha"] => calls::library,
    "ladder" Few "/qrcode?text=a" ["oha"] => ladder::measure,
    "telemetry" Records "/read/1" ["oha"] => telemetry::measure,
    "tokens" Few "/read/1" ["oha"] => tokens::measure,
    "waiting" Records "/read/1" ["oha"] => waiting::measure,
    "peers" Few "/read/1" [] => peers::measure,
    "contacts" Own "/ready" ["oha"] => contacts::measure,
    "reports" Own "/ready" ["oha"] => reports::measure,
    "rolling-out" Own "/ready" [] => rolling_out::measure,
    "taking-over" Own "/ready" ["oha"] => taking_over::measure,
    "energy" Records "/read/1" ["oha"] => energy::task::measure,
};

/// True when services beside the port are among the rows of a task.
pub fn has_peers(task: &str) -> anyhow::Result<bool> {
    Ok(rows::of(task, Mode::Thorough, true)?
        .iter()
        .any(Row::is_a_peer))
}

/// Measures what is asked for. The tools are looked for first: data are seeded, and releases built, for minutes.
pub async fn measure(
    workspace: &Workspace,
    asked: &Asked,
    data_set: Option<DataSet>,
) -> anyhow::Result<ResultFile> {
    let task = TASKS
        .iter()
        .find(|task| task.name == asked.task)
        .ok_or_else(|| {
            let names: Vec<&str> = TASKS.iter().map(|task| task.name).collect();
            Trouble::new(format!(
                "exercise.toml asks for the measurement {:?}",
                asked.task
            ))
            .expected(format!("one of: {}", names.join(", ")))
            .next("git diff -- '*exercise.toml'")
        })?;
    for tool in task.tools {
        tools::find(workspace, tool)?;
    }
    let usual = match task.data {
        Records => lab::usual_data_set(),
        Few | Own => DataSet::Small,
    };
    let lab = Lab::open(workspace, data_set, usual).await?;
    let own = match task.data {
        Records | Few => None,
        Own => Some(RunDatabase::empty(&lab.server).await?),
    };
    let url = own.as_ref().map_or(&*lab.database_url, RunDatabase::url);
    lab.is_worth_a_release(asked.target, task.first, url)
        .await?;
    if let Some(own) = own {
        own.remove().await?;
    }
    println!("release builds come first; the first time they take minutes");
    (task.run)(&lab, asked).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use workshop_base::exercise::Catalogue;
    use workshop_measure::protocol::plan::Plan;

    #[test]
    fn every_exercise_asks_for_a_measurement_that_exists() {
        let checkout = Workspace::at(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
        for exercise in Catalogue::read(&checkout).unwrap().iter() {
            let task = exercise.task();
            let known = |name| TASKS.iter().any(|task| task.name == name);
            assert!(task.is_none_or(known), "{}: {task:?}", exercise.name());
        }
    }

    /// A day in a room is planned by the task's name, and the measurement announces what its plan says.
    #[test]
    fn every_task_has_a_plan_of_its_name() {
        for task in TASKS {
            let plan = Plan::of(task.name, Mode::Standard);
            assert!(plan.is_ok(), "{}: {:?}", task.name, plan.err());
        }
    }
}
