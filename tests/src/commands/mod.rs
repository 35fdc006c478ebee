//! The commands, one module each, and the table that leads to them.

use crate::cli::Command;
use crate::outcome::Outcome;
use crate::workspace::Workspace;

/// Runs one command.
///
/// # Errors
/// Whatever the command could not get past.
pub async fn run(workspace: &Workspace, command: Command) -> anyhow::Result<Outcome> {
    let _ = workspace;
    anyhow::bail!("not here yet: {command:?}")
}
