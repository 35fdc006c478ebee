//! The command `workshop`: what learners do. Other commands are handed over to the programs that have them.

use std::process::ExitCode;

use workshop::cli::Command;
use workshop::{commands, front, programs};

fn main() -> ExitCode {
    front::main(async |workspace, command| match command {
        Command::Learn(command) => commands::run(workspace, command).await,
        other => programs::hand_over(workspace, &other),
    })
}
