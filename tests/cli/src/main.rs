//! The command `workshop`: reads the command line, runs one command, turns its outcome into an exit code.

use std::process::ExitCode;

use clap::Parser;
use workshop::{cli::Cli, commands};
use workshop_base::{outcome, workspace::Workspace};

#[tokio::main]
async fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = match Workspace::find() {
        Ok(workspace) => commands::run(&workspace, cli.command).await,
        Err(trouble) => Err(trouble),
    };
    outcome::exit_code(result)
}
