//! The command `workshop`: reads the command line, runs one command, turns its outcome into an exit code.

use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;

use clap::Parser;
use workshop::{cli::Cli, commands};
use workshop_base::{environment, outcome, workspace::Workspace};

/// The exit code of a program whose reader has gone, as shells have it.
const READER_GONE: u8 = 141;
/// The exit code of a program that panics.
const PANICKED: u8 = 101;

fn main() -> ExitCode {
    if let Err(error) = environment::clear() {
        return outcome::exit_code(Err(error));
    }
    let say = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        if !panic.payload_as_str().is_some_and(tells_of_no_reader) {
            say(panic);
        }
    }));
    // `just check exercise-3 | head`: the end of the reader ends the command, and what it has started stops with it.
    panic::catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        let gone = panic
            .downcast_ref::<String>()
            .is_some_and(|words| tells_of_no_reader(words));
        ExitCode::from(if gone { READER_GONE } else { PANICKED })
    })
}

/// The standard library has no other word for it than a panic.
fn tells_of_no_reader(words: &str) -> bool {
    words.starts_with("failed printing to std") && words.contains("Broken pipe")
}

#[tokio::main]
async fn run() -> ExitCode {
    let cli = Cli::parse();
    let result = match Workspace::find() {
        Ok(workspace) => commands::run(&workspace, cli.command).await,
        Err(trouble) => Err(trouble),
    };
    outcome::exit_code(result)
}
