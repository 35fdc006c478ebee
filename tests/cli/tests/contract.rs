//! The contract suites under plain `cargo test`: each test of the suites is a test of the Kotlin service and of each
//! reference that it judges. A target is built and started when the first of its tests is asked for.
//!
//! With `WORKSHOP_CONTRACT=last-states`, a reference that another one grows from is left out: the later one passes the same tests and
//! more, which is enough to see what another provider of PostgreSQL breaks.

use std::collections::HashSet;
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};

use libtest_mimic::{Arguments, Failed, Trial};
use tokio::runtime::{Handle, Runtime};
use workshop::commands::check;
use workshop_base::exercise::{Catalogue, Exercise};
use workshop_base::target::Target;
use workshop_base::workspace::Workspace;
use workshop_harness::build::{self, Profile};
use workshop_harness::report::{Report, Verdict};
use workshop_measure::protocol::subject::Subject;
use workshop_measure::protocol::{builder, gates};
use workshop_postgres::Server;
use workshop_postgres::datasets::{self, DataSet};

fn main() -> ExitCode {
    match trials_and_runtime() {
        // The runtime lives until every trial has run.
        Ok((trials, _runtime)) => libtest_mimic::run(&Arguments::from_args(), trials).exit_code(),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn trials_and_runtime() -> anyhow::Result<(Vec<Trial>, Runtime)> {
    let runtime = Runtime::new()?;
    let workspace = Workspace::find()?;
    let catalogue = Catalogue::read(&workspace)?;
    let mut trials = trials_of(
        &workspace,
        &catalogue,
        Target::Kotlin,
        None,
        runtime.handle(),
    );
    let last_states_only = last_states_only()?;
    for exercise in catalogue.iter() {
        if last_states_only && is_grown_from(&catalogue, exercise) {
            continue;
        }
        let target = Target::Solution(exercise.number);
        trials.extend(trials_of(
            &workspace,
            &catalogue,
            target,
            Some(exercise),
            runtime.handle(),
        ));
    }
    trials.push(trial_of_the_ceiling(&workspace, runtime.handle()));
    Ok((firsts_first(trials), runtime))
}

/// The first trial of each target begins the list: as many targets are judged side by side as there are threads.
fn firsts_first(trials: Vec<Trial>) -> Vec<Trial> {
    let mut begun = HashSet::new();
    let is_first = |trial: &Trial| {
        let target = trial.name().split("::").next().unwrap_or_default();
        begun.insert(target.to_owned())
    };
    let (mut firsts, others): (Vec<_>, Vec<_>) = trials.into_iter().partition(is_first);
    firsts.extend(others);
    firsts
}

/// What the environment asks for. A word that is not known would silently judge less, or more, than was meant.
fn last_states_only() -> anyhow::Result<bool> {
    match std::env::var("WORKSHOP_CONTRACT").as_deref() {
        Err(_) => Ok(false),
        Ok("last-states") => Ok(true),
        Ok(other) => {
            anyhow::bail!("WORKSHOP_CONTRACT is {other:?}; expected: last-states, or not set")
        }
    }
}

fn is_grown_from(catalogue: &Catalogue, exercise: &Exercise) -> bool {
    let mut later = catalogue
        .iter()
        .filter_map(|later| later.grows_from.as_ref());
    later.any(|grown| grown.exercise == exercise.number)
}

/// The yardstick of the measurements is no target, but what it answers must be what the port answers.
fn trial_of_the_ceiling(workspace: &Workspace, runtime: &Handle) -> Trial {
    let (workspace, runtime) = (workspace.clone(), runtime.clone());
    Trial::test("ceiling::it_does_the_same_work_as_the_port", move || {
        runtime
            .block_on(same_work_as_the_port(&workspace))
            .map_err(|error| Failed::from(format!("{error:#}")))
    })
}

async fn same_work_as_the_port(workspace: &Workspace) -> anyhow::Result<()> {
    /// The first reference that checks keys.
    const PORT: u8 = 4;
    let server = Server::ensure(workspace).await?;
    datasets::seed(&server, workspace, DataSet::Small).await?;
    let scratch = tempfile::tempdir()?;
    let target = Target::Solution(PORT);
    let port = build::build(workspace, target, Profile::Check).await?;
    let port = Subject::named(&target.to_string(), "port", port, scratch.path())?;
    let ceiling = builder::ceiling(workspace, Profile::Check).await?;
    let ceiling = Subject::named("ceiling", "ceiling", ceiling, scratch.path())?;
    let url = datasets::shared_url(&server, DataSet::Small);
    gates::same_work(workspace, &[port, ceiling], &url, DataSet::Small).await?;
    Ok(())
}

/// What a target did, judged once however many of its tests are asked for.
struct Judged {
    workspace: Workspace,
    catalogue: Catalogue,
    target: Target,
    report: OnceLock<Result<Report, String>>,
}

impl Judged {
    fn report(&self, runtime: &Handle) -> &Result<Report, String> {
        self.report.get_or_init(|| {
            let report = runtime
                .block_on(check::judge(&self.workspace, &self.catalogue, self.target))
                .map_err(|error| format!("{error:#}"))?;
            report.print_unsteady();
            Ok(report)
        })
    }
}

fn trials_of(
    workspace: &Workspace,
    catalogue: &Catalogue,
    target: Target,
    exercise: Option<&Exercise>,
    runtime: &Handle,
) -> Vec<Trial> {
    let judged = Arc::new(Judged {
        workspace: workspace.clone(),
        catalogue: catalogue.clone(),
        target,
        report: OnceLock::new(),
    });
    names(catalogue, exercise)
        .into_iter()
        .map(|test| {
            let (judged, runtime) = (Arc::clone(&judged), runtime.clone());
            Trial::test(format!("{target}::{test}"), move || {
                verdict(judged.report(&runtime), &test)
            })
        })
        .collect()
}

/// The names of the tests that judge a target.
fn names(catalogue: &Catalogue, exercise: Option<&Exercise>) -> Vec<String> {
    let suites_of_exercise = match exercise {
        Some(alone) if !alone.is_crate() => return alone.red.clone(),
        Some(exercise) => Some(catalogue.suites_for(exercise)),
        None => None,
    };
    workshop_suites::all()
        .into_iter()
        .filter(|suite| {
            suites_of_exercise.as_ref().map_or_else(
                || suite.judges_kotlin(),
                |names| names.contains(&suite.name),
            )
        })
        .flat_map(|suite| suite.tests)
        .map(|test| test.name.to_owned())
        .collect()
}

fn verdict(report: &Result<Report, String>, test: &str) -> Result<(), Failed> {
    let report = report
        .as_ref()
        .map_err(|error| Failed::from(format!("could not judge: {error}")))?;
    match report
        .tests
        .iter()
        .find(|judged| judged.test == test)
        .map(|judged| &judged.verdict)
    {
        Some(Verdict::Passed) => Ok(()),
        Some(Verdict::Failed { failure, log }) => {
            Err(Failed::from(format!("{failure}\nthe log ends with\n{log}")))
        }
        None => Err(Failed::from("the test was not run")),
    }
}
