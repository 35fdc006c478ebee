//! The program `workshop-book`: the book, built, served and checked. The core hands its commands over.

use std::process::ExitCode;

use workshop::cli::Command;
use workshop::{front, programs};

fn main() -> ExitCode {
    front::main(async |workspace, command| match command {
        Command::Book(command) => workshop_book::commands::run(workspace, command),
        other => programs::hand_over(workspace, &other),
    })
}
