//! The commands, one module each, and the table that leads to them.

mod clean;
mod image;
mod seed;

use crate::cli::Command;
use crate::outcome::Outcome;
use crate::workspace::Workspace;

/// Runs one command.
///
/// # Errors
/// Whatever the command could not get past.
pub async fn run(workspace: &Workspace, command: Command) -> anyhow::Result<Outcome> {
    match command {
        Command::Seed(args) => seed::run(workspace, &args).await,
        Command::Image => image::run(workspace).await,
        Command::Clean { image } => clean::run(workspace, image).await,
        other => anyhow::bail!("not here yet: {other:?}"),
    }
}
