//! The commands of learners, one module each, and the table that leads to them.

mod case;
mod catch_up;
pub mod check;
mod clean;
mod hint;
mod hunt;
mod incident;
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
mod what_is_new;

use std::io::Write;
use std::pin::Pin;

use crate::cli::LearnCommand;
use crate::completions;
use crate::doctor;
use crate::signals::{Interruption, until_interrupted};
use crate::state;
use crate::subject::{CheckTarget, HuntTarget};

use workshop_base::exercise::{Catalogue, Exercise};
use workshop_base::files;
use workshop_base::outcome::{Outcome, Trouble};
use workshop_base::target::Target;
use workshop_base::workspace::Workspace;

/// A command at work. It is boxed, so that its body is compiled here alone.
pub type Running<'a> = Pin<Box<dyn Future<Output = anyhow::Result<Outcome>> + 'a>>;

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
        | LearnCommand::WhatIsNew { .. }
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
        LearnCommand::Check { target, options } => {
            case::check(workspace, or_current(workspace, target)?, &options).await
        }
        LearnCommand::Run(args) => {
            case::run(workspace, or_current(workspace, args.target)?, &args).await
        }
        LearnCommand::Prepare { target } => prepare::run(workspace, target).await,
        LearnCommand::Upstream(args) => upstream::run(&args).await,
        LearnCommand::Watch { target } => {
            watch::run(workspace, or_current(workspace, target)?).await
        }
        LearnCommand::Hint { target, level } => match or_current(workspace, target)? {
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
        LearnCommand::WhatIsNew { target: None } => what_is_new::tell_all(workspace),
        LearnCommand::WhatIsNew {
            target: Some(target),
        } => what_is_new::run(workspace, &exercise(workspace, target)?),
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
            let catalogue = Catalogue::read(workspace)?;
            std::io::stdout().write_all(&completions::script(&catalogue, shell))?;
            Ok(Outcome::Passed)
        }
        LearnCommand::Seed { data_set, again } => seed::run(workspace, data_set, again).await,
        LearnCommand::Clean => clean::run(workspace).await,
    }
}

fn or_current(workspace: &Workspace, target: Option<CheckTarget>) -> anyhow::Result<CheckTarget> {
    let current = || current(workspace).map(CheckTarget::Target);
    target.map_or_else(current, Ok)
}

/// The exercise that the learner is at, and why it is that one: the one checked last while it's red, else the next that isn't green.
fn current(workspace: &Workspace) -> anyhow::Result<Target> {
    let catalogue = Catalogue::read(workspace)?;
    let checked = catalogue.iter().filter_map(|exercise| {
        let memory = state::recall(workspace, exercise);
        Some((memory.last_check.as_ref()?.at, exercise, memory.is_red()))
    });
    let last = checked.max_by_key(|(at, ..)| *at);
    let (exercise, why) = match last {
        Some((_, exercise, true)) => (Some(exercise), "the one checked last, still red"),
        _ => (
            progress::next_to_do(workspace, &catalogue),
            "the next that isn't green",
        ),
    };
    let Some(exercise) = exercise else {
        return Trouble::new("every exercise of the core way is green")
            .expected("an exercise by its name")
            .next("just progress; just check exercise-N")
            .err();
    };
    eprintln!("{}: {why}", exercise.name());
    Ok(Target::Exercise(exercise.number))
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
