//! An incident that is solved from traces alone: `just hunt` and `just run hunt` play it and tell what the collector has got, `just check
//! hunt` judges the diagnosis.

use std::path::Path;

use crate::commands::check::{after_hunting, last_check};
use crate::commands::run::until;
use crate::hunt::{self, Hunt};
use crate::signals::interrupted;
use workshop_base::exercise::Catalogue;
use workshop_base::files;
use workshop_base::incidents::Incident;
use workshop_base::outcome::{Outcome, Trouble};
use workshop_base::terminal::{Style, paint};
use workshop_base::workspace::Workspace;
use workshop_harness::build::{self, Profile};
use workshop_harness::copies::Copy;
use workshop_harness::incident::{self as play, Incident as Played};
use workshop_harness::scenarios::Place;
use workshop_postgres::Server;
use workshop_suites::forms::diagnosis::FILE;
use workshop_suites::forms::from_traces::{self, Truth};

/// What helps while something is red.
pub const WHAT_NEXT: &str = "next: just hint hunt; just run hunt plays it again for you to look";

/// The incident that a hunt is about.
pub fn of_hunt(workspace: &Workspace, exercise: u8, name: &str) -> anyhow::Result<Incident> {
    let catalogue = Catalogue::read(workspace)?;
    Incident::named(workspace, catalogue.get(exercise)?, name)
}

/// Plays what happened, and tells what the collector has got. The service is gone then, and so is its code.
pub async fn run(workspace: &Workspace, mut hunt: Hunt) -> anyhow::Result<Outcome> {
    let Some(mut state) = hunt.case.clone() else {
        return Ok(Outcome::CouldNotJudge);
    };
    let incident = of_hunt(workspace, hunt.exercise, &state.name)?;
    println!("building that release, and asking it for some seconds …");
    let mut interrupted = std::pin::pin!(interrupted());
    let played = play(workspace, hunt.exercise, &incident);
    let Some(played) = until(&mut interrupted, played).await else {
        return Ok(Outcome::Passed);
    };
    let played = played?;
    state.evidence = played.showing(&incident.name)?;
    hunt.case = Some(state);
    hunt.save(workspace)?;
    let (summary, folder) = (played.summary(), hunt::folder(workspace));
    let all = format!("{summary}\n{}", played.details());
    files::write(&folder.join(hunt::TRACES), all.as_bytes())?;
    println!("\n{summary}");
    let folder = files::shown(workspace, &folder);
    println!("More traces are in {folder}/{}.", hunt::TRACES);
    println!("Write what you find into {folder}/{FILE}.");
    println!(
        "next: just check hunt judges it; just run hunt plays it again; just reset hunt gives up, and tells you"
    );
    Ok(Outcome::Passed)
}

async fn play(workspace: &Workspace, exercise: u8, incident: &Incident) -> anyhow::Result<Played> {
    let catalogue = Catalogue::read(workspace)?;
    let exercise = catalogue.get(exercise)?;
    let (member, source) = (exercise.reference_name(), exercise.solution(workspace));
    let fault = incident.fault()?;
    let copy = Copy::in_place_of(&member, workspace, &source, hunt::NAME, Some(&fault)).await?;
    let launch = build::launch(workspace, exercise.calls(), copy.krate(), Profile::Check).await;
    let launch = launch.map_err(|error| Trouble::new(error.to_string()).failed())?;
    let server = Server::ensure(workspace).await?;
    let place = Place {
        workspace,
        server: &server,
        launch: &launch,
    };
    play::watch(&place).await
}

/// Judges the diagnosis.
pub fn check(workspace: &Workspace, mut hunt: Hunt) -> anyhow::Result<Outcome> {
    let Some(mut state) = hunt.case.clone() else {
        return Ok(Outcome::CouldNotJudge);
    };
    let incident = of_hunt(workspace, hunt.exercise, &state.name)?;
    let label = format!("{}: {}", hunt::NAME, incident.title);
    println!("{}", paint(Style::Strong, label));
    let form = files::text(&hunt::folder(workspace).join(Path::new(FILE))).map_err(|error| {
        Trouble::new(format!("there is no diagnosis: {error}"))
            .next(format!("just hunt exercise-{}", hunt.exercise))
            .failed()
    })?;
    let truth = Truth {
        incident: &incident,
        showing: &state.evidence,
    };
    let report = from_traces::judge(&form, &truth);
    report.print_tests();
    report.print_count();
    state.memory.last_check = Some(last_check(&report));
    hunt.case = Some(state);
    hunt.save(workspace)?;
    println!("\n{}", after_hunting(&hunt, &report, WHAT_NEXT));
    Ok(report.outcome())
}
