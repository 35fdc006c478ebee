//! What every program begins and ends with: the command line is read, one command is run, and its outcome becomes an exit code.

use std::panic::{self, AssertUnwindSafe};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::Parser;

use crate::cli::{Cli, Command, LearnCommand};
use crate::renumbered;
use workshop_base::outcome::Outcome;
use workshop_base::workspace::Workspace;
use workshop_base::{environment, outcome, scratch};

/// The exit code of a program whose reader has gone, as shells have it.
const READER_GONE: u8 = 141;
/// How long a command that was given up waits for what it has under way: a service stops in this time, and Maven may never.
const GIVEN_UP: Duration = Duration::from_secs(15);
/// The exit code of a program that panics.
const PANICKED: u8 = 101;

/// The whole of a program that runs commands so.
pub fn main(run: impl AsyncFnOnce(&Workspace, Command) -> anyhow::Result<Outcome>) -> ExitCode {
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
    panic::catch_unwind(AssertUnwindSafe(|| one(run))).unwrap_or_else(|panic| {
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

fn one(run: impl AsyncFnOnce(&Workspace, Command) -> anyhow::Result<Outcome>) -> ExitCode {
    let Cli { command } = Cli::parse();
    let runtime = tokio::runtime::Runtime::new().context("cannot start the tool's threads");
    let (result, runtime) = match runtime {
        Ok(runtime) => {
            let result = Workspace::find().and_then(|workspace| {
                if !matches!(command, Command::Learn(LearnCommand::Clean)) {
                    scratch::sweep_checkout(&workspace);
                    renumbered::bring_along(&workspace)?;
                    let typed = std::env::args().nth(2).unwrap_or_default();
                    if let Some(new) = renumbered::new_number(&workspace, &typed) {
                        eprintln!("{new}");
                    }
                }
                runtime.block_on(run(&workspace, command))
            });
            (result, Some(runtime))
        }
        Err(error) => (Err(error), None),
    };
    let is_given_up = result.is_err();
    let code = outcome::exit_code(result);
    if let Some(runtime) = runtime.filter(|_| is_given_up) {
        runtime.shutdown_timeout(GIVEN_UP);
    }
    code
}
