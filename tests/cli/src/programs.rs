//! The programs that the tool consists of. The core does what learners do; what only measuring, the book or authors need is in programs
//! of their own, which are compiled when a command asks for them. Each reads the same command line, and hands over what it has not.

use std::os::unix::process::CommandExt;
use std::process::{Command as Process, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use crate::cli::Command;
use workshop_base::outcome::Outcome;
use workshop_base::program;
use workshop_base::workspace::Workspace;

/// How long a program that is given up may take to stop what it has started.
const STOPPING: Duration = Duration::from_secs(15);

/// One of the programs, as another one knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sibling {
    Core,
    Lab,
    Book,
    /// What authors and instructors do.
    Author,
}

impl Sibling {
    /// What its file and its package are called.
    pub fn name(self) -> &'static str {
        match self {
            Sibling::Core => "workshop",
            Sibling::Lab => "workshop-lab",
            Sibling::Book => "workshop-book",
            Sibling::Author => "workshop-author",
        }
    }

    /// Runs this program with a command, to its end.
    pub async fn run(self, workspace: &Workspace, args: &[&str]) -> anyhow::Result<Outcome> {
        let mut command = self.called(workspace);
        command.args(args).stdin(Stdio::null());
        let mut running = Ending(program::start(command)?);
        let status = running.0.child.wait().await?;
        Ok(match status.code() {
            Some(0) => Outcome::Passed,
            Some(1) => Outcome::Failed,
            _ => Outcome::CouldNotJudge,
        })
    }

    /// By `justw`, which builds it where it is not as its sources are.
    fn called(self, workspace: &Workspace) -> Process {
        let mut command = Process::new("sh");
        command
            .arg(workspace.root().join("justw"))
            .args(["--run", self.name()]);
        command
    }
}

/// The program that has this command.
pub fn program_of(command: &Command) -> Sibling {
    match command {
        Command::Learn(_) => Sibling::Core,
        Command::Lab(_) => Sibling::Lab,
        Command::Book(_) => Sibling::Book,
        Command::Author(_) => Sibling::Author,
    }
}

/// Becomes the program that has this command, with the arguments that this one was called with.
pub fn hand_over(workspace: &Workspace, command: &Command) -> anyhow::Result<Outcome> {
    let mut program = program_of(command).called(workspace);
    let error = program.args(std::env::args_os().skip(1)).exec();
    Err(error).context("cannot start a shell for justw")
}

/// A program whose end is waited for, also where it is given up: it stops what it has started.
struct Ending(program::Program);

impl Drop for Ending {
    fn drop(&mut self) {
        let Some(id) = self.0.child.id() else { return };
        let _ = killpg(Pid::from_raw(id.cast_signed()), Signal::SIGTERM);
        let given_up = Instant::now();
        while matches!(self.0.child.try_wait(), Ok(None)) && given_up.elapsed() < STOPPING {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}
