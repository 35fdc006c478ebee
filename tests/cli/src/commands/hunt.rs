//! `just hunt`: begins a bug hunt, or a debugging case; `just reset hunt` ends it and tells what it was.

use std::path::PathBuf;

use crate::hunt::{self, Hunt};
use workshop_base::cases::DebugCase;
use workshop_base::exercise::Exercise;
use workshop_base::files;
use workshop_base::outcome::Outcome;
use workshop_base::workspace::Workspace;
use workshop_suites::forms::diagnosis;

/// Plants a mistake, and says where it is and which test it breaks.
pub async fn run(
    workspace: &Workspace,
    exercise: &Exercise,
    minutes: Option<u32>,
) -> anyhow::Result<Outcome> {
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

/// Ends the hunt and tells the answer.
pub fn give_up(workspace: &Workspace) -> anyhow::Result<Outcome> {
    let hunt = Hunt::on(workspace)?;
    let fix = match &hunt.case {
        Some(state) => Some(DebugCase::named(workspace, &state.name)?.fix()?),
        None => None,
    };
    let kept = hunt::clear(workspace)?;
    println!("It was this. {}", hunt.answer);
    if let Some(fix) = fix {
        println!("\nOne way to fix it:\n\n{fix}");
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
