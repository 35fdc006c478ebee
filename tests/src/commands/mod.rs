//! The commands, one module each, and the table that leads to them.

mod book_check;
mod mdbook;

use crate::cli::Command;
use crate::outcome::Outcome;
use crate::workspace::Workspace;

/// Runs one command.
///
/// # Errors
/// Whatever the command could not get past.
pub async fn run(workspace: &Workspace, command: Command) -> anyhow::Result<Outcome> {
    match command {
        Command::BookCheck => book_check::run(workspace),
        Command::Mdbook(args) => mdbook::run(&args),
        command => anyhow::bail!("not here yet: {command:?}"),
    }
}
