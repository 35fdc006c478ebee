//! The program `workshop-lab`: what is measured. The core hands its commands over.

use std::process::ExitCode;

use workshop::cli::Command;
use workshop::{front, programs};

fn main() -> ExitCode {
    front::main(async |workspace, command| match command {
        Command::Lab(command) => workshop_lab::run(workspace, command).await,
        other => programs::hand_over(workspace, &other),
    })
}
