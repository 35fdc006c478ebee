//! The commands, one module each, and the table that leads to them.

mod doctor;
mod hint;
mod progress;
mod reset;
mod solution;
mod starter_patch;
mod watch;

use crate::cli::Command;
use crate::exercise::{Catalogue, Exercise};
use crate::outcome::{Outcome, Trouble};
use crate::target::Target;
use crate::workspace::Workspace;

/// Runs one command.
///
/// # Errors
/// Whatever the command could not get past.
pub async fn run(workspace: &Workspace, command: Command) -> anyhow::Result<Outcome> {
    match command {
        Command::Doctor => doctor::run(workspace).await,
        Command::Watch { target } => watch::run(workspace, &exercise(workspace, target)?).await,
        Command::Hint { target } => hint::run(workspace, &exercise(workspace, target)?),
        Command::Solution { target, apply } => {
            solution::run(workspace, &exercise(workspace, target)?, apply)
        }
        Command::Reset { target } => reset::run(workspace, &exercise(workspace, target)?),
        Command::Progress => progress::run(workspace),
        Command::StarterPatch { target } => {
            starter_patch::run(workspace, &exercise(workspace, target)?)
        }
        command => anyhow::bail!("not here yet: {command:?}"),
    }
}

/// The exercise that a command for learners is about.
fn exercise(workspace: &Workspace, target: Target) -> anyhow::Result<Exercise> {
    let catalogue = Catalogue::read(workspace)?;
    match target {
        Target::Exercise(number) => Ok(catalogue.get(number)?.clone()),
        Target::Solution(_) | Target::Kotlin => {
            Err(Trouble::new(format!("{target} is nothing that you edit"))
                .expected(format!("one of: {}", catalogue.names().join(", ")))
                .next("just progress")
                .into())
        }
    }
}
