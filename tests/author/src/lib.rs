//! What authors and instructors do: the gate, the chain of references, new exercises, the kit, and the rehearsal of a day.

mod carrying;
pub mod chain;
pub mod gate;
mod judge;
mod kit;
mod new_exercise;
mod rehearse;
mod test;
mod verdicts;
mod verify;

use workshop::cli::AuthorCommand;
use workshop::commands::{Running, exercise};
use workshop::signals::{Interruption, until_interrupted};
use workshop_base::files;
use workshop_base::outcome::Outcome;
use workshop_base::workspace::Workspace;

/// Runs one command.
pub fn run(workspace: &Workspace, command: AuthorCommand) -> Running<'_> {
    Box::pin(until_interrupted(
        interruption(&command),
        done(workspace, command),
    ))
}

fn interruption(command: &AuthorCommand) -> Interruption {
    match command {
        AuthorCommand::NewExercise { .. }
        | AuthorCommand::StarterPatch { .. }
        | AuthorCommand::Carry { .. } => Interruption::AtOnce,
        _ => Interruption::Dropped,
    }
}

async fn done(workspace: &Workspace, command: AuthorCommand) -> anyhow::Result<Outcome> {
    match command {
        AuthorCommand::Verify {
            target,
            quick,
            anew,
            one_in,
        } => {
            let share = verify::Share::of(workspace, one_in);
            verify::run(workspace, &target, quick, anew, share).await
        }
        AuthorCommand::Test => test::run(workspace).await,
        AuthorCommand::Carry { target, since } => carrying::run(workspace, target, since),
        AuthorCommand::StarterPatch { target } => {
            carrying::starter_patch(workspace, &exercise(workspace, target)?)
        }
        AuthorCommand::NewExercise {
            number,
            origin,
            title,
            ..
        } => new_exercise::run(workspace, number, origin, &title),
        AuthorCommand::Kit { folder } => kit::run(workspace, &files::as_called(&folder)).await,
        AuthorCommand::Rehearse { plan, exercises } => {
            rehearse::run(workspace, &plan, &exercises).await
        }
    }
}
