//! The program `workshop-author`: what authors and instructors do, and every other command as well, since the gate needs all of them.

use std::process::ExitCode;

use workshop::cli::Command;
use workshop::{commands, front};

fn main() -> ExitCode {
    front::main(async |workspace, command| match command {
        Command::Learn(command) => commands::run(workspace, command).await,
        Command::Lab(command) => workshop_lab::run(workspace, command).await,
        Command::Book(command) => workshop_book::commands::run(workspace, command),
        Command::Author(command) => workshop_author::run(workspace, command).await,
    })
}
