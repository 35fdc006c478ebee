//! `just hunt`: begins a bug hunt, or a debugging case; `just reset hunt` ends it and tells what it was.

use std::path::PathBuf;

use crate::commands::incident;
use crate::hunt::{self, Hunt};
use workshop_base::cases::DebugCase;
use workshop_base::exercise::{Catalogue, Exercise};
use workshop_base::files;
use workshop_base::incidents::Incident;
use workshop_base::outcome::Outcome;
use workshop_base::workspace::Workspace;
use workshop_suites::forms::diagnosis;

/// Plants a mistake, and says where it is and which test it breaks.
pub async fn run(
    workspace: &Workspace,
    exercise: &Exercise,
    minutes: Option<u32>,
) -> anyhow::Result<Outcome> {
    if !Incident::all(workspace, exercise)?.is_empty() {
        return run_incident(workspace, exercise, minutes).await;
    }
    let (hunt, kept) = hunt::plant(workspace, exercise, minutes).await?;
    tell_kept(workspace, kept);
    let folder = files::shown(workspace, &hunt::folder(workspace));
    println!(
        "{folder} is the reference of {} with one mistake in it. Find it, and fix it there.",
        exercise.name()
    );
    println!("your only clue: {} is red", hunt.clue);
    if let Some(clock) = hunt.clock() {
        println!("{clock}");
    }
    println!(
        "next: just watch hunt checks whenever you save; just reset hunt gives up, and tells you"
    );
    Ok(Outcome::Passed)
}

/// Plants a debugging case, and tells what Priya says.
pub async fn run_case(
    workspace: &Workspace,
    name: &str,
    minutes: Option<u32>,
) -> anyhow::Result<Outcome> {
    let case = DebugCase::named(workspace, name)?;
    let (hunt, kept) = hunt::plant_case(workspace, &case, minutes).await?;
    tell_kept(workspace, kept);
    let folder = files::shown(workspace, &hunt::folder(workspace));
    println!("{}\n", case.symptoms.trim());
    println!(
        "{folder} is the reference of exercise-{} with a colleague's feature: {}.",
        case.exercise, case.title
    );
    println!(
        "Write what you find into {folder}/{}, before you change any code.",
        diagnosis::FILE
    );
    if let Some(clock) = hunt.clock() {
        println!("{clock}");
    }
    println!(
        "next: just run hunt plays what happened, and leaves the service for you to look at; just check hunt judges"
    );
    Ok(Outcome::Passed)
}

/// Plants an incident, tells what Priya says, and plays it.
async fn run_incident(
    workspace: &Workspace,
    exercise: &Exercise,
    minutes: Option<u32>,
) -> anyhow::Result<Outcome> {
    let (hunt, incident, kept) = hunt::plant_incident(workspace, exercise, minutes)?;
    tell_kept(workspace, kept);
    println!("{}\n", incident.symptoms.trim());
    println!(
        "A release of {} does that: {}. You see no code, only what it tells the collector.",
        exercise.name(),
        incident.title
    );
    if let Some(clock) = hunt.clock() {
        println!("{clock}");
    }
    incident::run(workspace, hunt).await
}

/// Ends the hunt and tells the answer.
pub fn give_up(workspace: &Workspace) -> anyhow::Result<Outcome> {
    let hunt = Hunt::on(workspace)?;
    let patch = match &hunt.case {
        Some(state) if state.from_traces => {
            let catalogue = Catalogue::read(workspace)?;
            let exercise = catalogue.get(hunt.exercise)?;
            let fault = Incident::named(workspace, exercise, &state.name)?.fault()?;
            Some(("What had been changed in the reference", fault))
        }
        Some(state) => {
            let fix = DebugCase::named(workspace, &state.name)?.fix()?;
            Some(("One way to fix it", fix))
        }
        None => None,
    };
    let kept = hunt::clear(workspace)?;
    println!("It was this. {}", hunt.answer);
    if let Some((what, patch)) = patch {
        println!("\n{what}:\n\n{patch}");
    }
    tell_kept(workspace, kept);
    println!("next: {}", hunt.another());
    Ok(Outcome::Passed)
}

fn tell_kept(workspace: &Workspace, kept: Option<PathBuf>) {
    if let Some(kept) = kept {
        let kept = files::shown(workspace, &kept);
        println!("Your files of the hunt are kept in {kept}");
    }
}
