//! `just hunt`: begins a bug hunt; `just reset hunt` ends it and tells what it was.

use std::path::PathBuf;

use crate::hunt::{self, Hunt};
use workshop_base::exercise::Exercise;
use workshop_base::files;
use workshop_base::outcome::Outcome;
use workshop_base::workspace::Workspace;

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

/// Ends the hunt and tells the answer.
pub fn give_up(workspace: &Workspace) -> anyhow::Result<Outcome> {
    let hunt = Hunt::on(workspace)?;
    let kept = hunt::clear(workspace)?;
    println!("It was this. {}", hunt.answer);
    tell_kept(workspace, kept);
    println!("next: just hunt exercise-{} plants another", hunt.exercise);
    Ok(Outcome::Passed)
}

fn tell_kept(workspace: &Workspace, kept: Option<PathBuf>) {
    if let Some(kept) = kept {
        let kept = files::shown(workspace, &kept);
        println!("Your files of the hunt are kept in {kept}");
    }
}
