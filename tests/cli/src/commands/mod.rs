//! The commands of learners, one module each, and the table that leads to them.

mod case;
mod catch_up;
pub mod check;
mod clean;
mod hint;
mod hunt;
mod image;
mod prepare;
mod progress;
mod reset;
mod review;
mod run;
pub mod seed;
mod solution;
mod tour;
mod upstream;
mod watch;

use std::io::Write;
use std::pin::Pin;

use clap::CommandFactory;

use crate::cli::{Cli, LearnCommand};
use crate::doctor;
use crate::signals::{Interruption, until_interrupted};
use crate::subject::{CheckTarget, HuntTarget};

use workshop_base::exercise::{Catalogue, Exercise};
use workshop_base::files;
use workshop_base::outcome::{Outcome, Trouble};
use workshop_base::target::Target;
use workshop_base::workspace::Workspace;

/// A command at work. It is boxed, so that its body is compiled here alone.
pub type Running<'a> = Pin<Box<dyn Future<Output = anyhow::Result<Outcome>> + 'a>>;

/// Runs one command.
pub fn run(workspace: &Workspace, command: LearnCommand) -> Running<'_> {
    Box::pin(until_interrupted(
        interruption(&command),
        done(workspace, command),
    ))
}

fn interruption(command: &LearnCommand) -> Interruption {
    match command {
        LearnCommand::Hint { .. }
        | LearnCommand::Solution { .. }
        | LearnCommand::Reset { .. }
        | LearnCommand::CatchUp { .. }
        | LearnCommand::Progress { .. }
        | LearnCommand::Completions { .. } => Interruption::AtOnce,
        LearnCommand::Run(_) | LearnCommand::Upstream(_) | LearnCommand::Watch { .. } => {
            Interruption::InOrder
        }
        _ => Interruption::Dropped,
    }
}

async fn done(workspace: &Workspace, command: LearnCommand) -> anyhow::Result<Outcome> {
    match command {
        LearnCommand::Tour => tour::run(workspace).await,
        LearnCommand::Doctor => doctor::run(workspace).await,
        LearnCommand::Check {
            target,
            timings,
            only,
        } => match only {
            Some(test) => check::run_one(workspace, target, &test).await,
            None => case::check(workspace, target, timings).await,
        },
        LearnCommand::Run(args) => case::run(workspace, &args).await,
        LearnCommand::Prepare { target } => prepare::run(workspace, target).await,
        LearnCommand::Upstream(args) => upstream::run(&args).await,
        LearnCommand::Watch { target } => watch::run(workspace, target).await,
        LearnCommand::Hint { target, level } => match target {
            CheckTarget::Target(target) => {
                hint::run(workspace, &exercise(workspace, target)?, level)
            }
            CheckTarget::Hunt => case::hint(workspace, level),
        },
        LearnCommand::Solution { target, ways, .. } if ways => {
            solution::tell_ways(workspace, &exercise(workspace, target)?)
        }
        LearnCommand::Solution {
            target,
            axum,
            rocket,
            ..
        } if axum || rocket => {
            let exercise = exercise(workspace, target)?;
            solution::tell_references(workspace, &exercise, axum, rocket)
        }
        LearnCommand::Solution { target, apply, .. } => {
            solution::run(workspace, &exercise(workspace, target)?, apply)
        }
        LearnCommand::Review { target } => {
            review::run(workspace, &exercise(workspace, target)?).await
        }
        LearnCommand::Reset { target } => match target {
            CheckTarget::Target(target) => reset::run(workspace, &exercise(workspace, target)?),
            CheckTarget::Hunt => hunt::give_up(workspace),
        },
        LearnCommand::CatchUp { target } => catch_up::run(workspace, &exercise(workspace, target)?),
        LearnCommand::Hunt { target, minutes } => match target {
            HuntTarget::Mistake(target) => {
                hunt::run(workspace, &exercise(workspace, target)?, minutes).await
            }
            HuntTarget::Case(name) => hunt::run_case(workspace, &name, minutes).await,
        },
        LearnCommand::Progress { to, name, leave } => {
            let to = to.map(|folder| files::as_called(&folder));
            progress::run(workspace, to.zip(name).as_ref(), leave)
        }
        LearnCommand::Completions { shell } => {
            let (mut command, mut script) = (Cli::command(), Vec::new());
            clap_complete::generate(shell, &mut command, "workshop", &mut script);
            std::io::stdout().write_all(&script)?;
            Ok(Outcome::Passed)
        }
        LearnCommand::Seed { data_set, again } => seed::run(workspace, data_set, again).await,
        LearnCommand::Image { target, keep } => image::run(workspace, target, keep).await,
        LearnCommand::Clean => clean::run(workspace).await,
    }
}

/// The exercise that a command for learners is about.
pub fn exercise(workspace: &Workspace, target: Target) -> anyhow::Result<Exercise> {
    let catalogue = Catalogue::read(workspace)?;
    match target {
        Target::Exercise(number) => Ok(catalogue.get(number)?.clone()),
        Target::Solution(_) | Target::Kotlin | Target::Peer(_) => {
            Trouble::new(format!("{target} isn't yours to edit"))
                .expected(format!("one of: {}", catalogue.names().join(", ")))
                .next("just progress")
                .err()
        }
    }
}
