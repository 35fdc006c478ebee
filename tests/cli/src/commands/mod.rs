//! The commands, one module each, and the table that leads to them.

mod board;
mod book;
mod build;
mod calibrate;
mod carry;
mod catch_up;
pub mod check;
mod clean;
mod endurance;
mod hint;
mod hunt;
mod image;
mod kit;
mod measure;
mod new_exercise;
mod prepare;
mod progress;
mod rehearse;
mod report;
mod reset;
mod review;
mod run;
mod seed;
mod solution;
mod test;
mod tour;
mod upstream;
mod verify;
mod watch;

use std::io::{IsTerminal, Write};

use clap::CommandFactory;
use tokio::signal::unix::{SignalKind, signal};

use crate::cli::{Cli, Command, LongRun, MeasureArgs};
use crate::doctor;
use crate::subject::CheckTarget;

use workshop_base::exercise::{Catalogue, Exercise};
use workshop_base::outcome::{INTERRUPTED, Interrupted, Outcome, Trouble};
use workshop_base::target::Target;
use workshop_base::workspace::Workspace;
use workshop_base::{files, scratch};
use workshop_measure::tools::crowd;

/// Runs one command. On Ctrl-C, SIGTERM or when its terminal goes, it is dropped, and with it whatever it has started, unless it has a
/// way of its own to end. A second Ctrl-C ends the tool at once.
pub async fn run(workspace: &Workspace, command: Command) -> anyhow::Result<Outcome> {
    if !matches!(command, Command::Clean) {
        scratch::sweep_checkout(workspace);
    }
    let ends_in_order = matches!(
        command,
        Command::Run(_)
            | Command::Upstream(_)
            | Command::Watch { .. }
            | Command::Measure(MeasureArgs { long: Some(_), .. })
            // A measurement calls it and ends it.
            | Command::PlayPeers { .. }
    );
    if starts_nothing(&command) {
        // A signal ends it as it ends any program: it never waits, so nothing would hear of it.
        return done(workspace, command).await;
    }
    end_at_the_second();
    let work = done(workspace, command);
    if ends_in_order {
        return work.await;
    }
    tokio::select! {
        result = work => result,
        () = interrupted() => {
            Err(Interrupted::new("interrupted; what was started is stopped").into())
        }
    }
}

/// True for commands that work on files and are done: they start no service and wait for none.
fn starts_nothing(command: &Command) -> bool {
    match command {
        Command::Hint { .. }
        | Command::Solution { .. }
        | Command::Reset { .. }
        | Command::CatchUp { .. }
        | Command::Progress { .. }
        | Command::NewExercise { .. }
        | Command::StarterPatch { .. }
        | Command::Carry { .. }
        | Command::Completions { .. }
        | Command::Book
        | Command::Serve { .. }
        | Command::BookCheck
        | Command::Preprocess { .. }
        | Command::Report => true,
        Command::Board { live, .. } => !live,
        _ => false,
    }
}

async fn done(workspace: &Workspace, command: Command) -> anyhow::Result<Outcome> {
    match command {
        Command::Tour => tour::run(workspace).await,
        Command::Doctor => doctor::run(workspace).await,
        Command::Check {
            target,
            timings,
            only,
        } => match only {
            Some(test) => check::run_one(workspace, target, &test).await,
            None => check::run(workspace, target, timings).await,
        },
        Command::Run(args) => run::run(workspace, &args).await,
        Command::Prepare { target } => prepare::run(workspace, target).await,
        Command::Upstream(args) => upstream::run(&args).await,
        Command::Watch { target } => watch::run(workspace, target).await,
        Command::Hint { target, level } => {
            hint::run(workspace, &exercise(workspace, target)?, level)
        }
        Command::Solution { target, ways, .. } if ways => {
            solution::tell_ways(workspace, &exercise(workspace, target)?)
        }
        Command::Solution {
            target,
            axum,
            rocket,
            ..
        } if axum || rocket => {
            let exercise = exercise(workspace, target)?;
            solution::tell_references(workspace, &exercise, axum, rocket)
        }
        Command::Solution { target, apply, .. } => {
            solution::run(workspace, &exercise(workspace, target)?, apply)
        }
        Command::Review { target } => review::run(workspace, &exercise(workspace, target)?).await,
        Command::Reset { target } => match target {
            CheckTarget::Target(target) => reset::run(workspace, &exercise(workspace, target)?),
            CheckTarget::Hunt => hunt::give_up(workspace),
        },
        Command::CatchUp { target } => catch_up::run(workspace, &exercise(workspace, target)?),
        Command::Hunt { target, minutes } => {
            hunt::run(workspace, &exercise(workspace, target)?, minutes).await
        }
        Command::Progress { to, name, leave } => {
            let to = to.map(|folder| files::as_called(&folder));
            progress::run(workspace, to.zip(name).as_ref(), leave)
        }
        Command::NewExercise {
            number,
            origin,
            title,
            ..
        } => new_exercise::run(workspace, number, origin, &title),
        Command::StarterPatch { target } => {
            carry::starter_patch(workspace, &exercise(workspace, target)?)
        }
        Command::Verify {
            target,
            quick,
            anew,
        } => verify::run(workspace, &target, quick, anew).await,
        Command::Test => test::run(workspace).await,
        Command::Carry { target, since } => carry::run(workspace, target, since),
        Command::Completions { shell } => {
            let (mut command, mut script) = (Cli::command(), Vec::new());
            clap_complete::generate(shell, &mut command, "workshop", &mut script);
            std::io::stdout().write_all(&script)?;
            Ok(Outcome::Passed)
        }
        Command::Seed { data_set, again } => seed::run(workspace, data_set, again).await,
        Command::Image { target, keep } => image::run(workspace, target, keep).await,
        Command::Kit { folder } => kit::run(workspace, &files::as_called(&folder)).await,
        Command::Rehearse { plan, exercises } => rehearse::run(workspace, &plan, &exercises).await,
        Command::Clean => clean::run(workspace).await,
        Command::Build(args) => build::run(workspace, &args).await,
        Command::Measure(MeasureArgs {
            long: Some(LongRun::Endurance(args)),
            ..
        }) => endurance::run(workspace, &args).await,
        Command::Measure(args) => measure::run(workspace, &args).await,
        Command::Book => book::build(workspace),
        Command::Serve {
            port,
            hostname,
            open,
        } => book::serve(workspace, port, &hostname, open),
        Command::BookCheck => book::check(workspace),
        Command::Preprocess { asked } => book::preprocess(asked),
        Command::Report => report::run(workspace),
        Command::Board { folder, live, .. } if live => {
            board::live(workspace, &files::as_called(&folder)).await
        }
        Command::Board {
            folder, minutes, ..
        } if minutes => board::minutes(workspace, &files::as_called(&folder)),
        Command::Board { folder, .. } => board::run(workspace, &files::as_called(&folder)),
        Command::Calibrate(args) => calibrate::run(workspace, &args).await,
        Command::PlayPeers { base_url } => {
            crowd::play(&base_url).await?;
            Ok(Outcome::Passed)
        }
    }
}

/// Returns when somebody wants the tool to end, or its terminal is gone. It hears from the call on, not only once it is awaited.
fn interrupted() -> impl Future<Output = ()> {
    let signals = [SignalKind::interrupt(), SignalKind::terminate()].map(signal);
    let hangup = match outlives_its_terminal() {
        true => None,
        false => signal(SignalKind::hangup()).ok(),
    };
    async move {
        let [Ok(mut interrupt), Ok(mut terminate)] = signals else {
            return std::future::pending().await;
        };
        let hung_up = async {
            match hangup {
                Some(mut hangup) => hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hung_up => {}
        }
    }
}

/// Ends the tool at the second signal to end, whatever it is at: what it has started may take long to stop, and may not stop at all. On a
/// thread of its own, which hears when all others wait.
fn end_at_the_second() {
    std::thread::spawn(|| {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let Ok(runtime) = runtime.enable_all().build() else {
            return;
        };
        runtime.block_on(async {
            let signals = [SignalKind::interrupt(), SignalKind::terminate()].map(signal);
            let [Ok(mut interrupt), Ok(mut terminate)] = signals else {
                return;
            };
            for _ in 0..2 {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                }
            }
            eprintln!(
                "ended at once; the next command removes what is left, and so does just clean"
            );
            std::process::exit(i32::from(INTERRUPTED));
        });
    });
}

/// True where the tool was started to go on without its terminal, as nohup does: there the signal is ignored, or all output goes
/// elsewhere.
fn outlives_its_terminal() -> bool {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else {
        return !std::io::stdout().is_terminal() && !std::io::stderr().is_terminal();
    };
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|digits| u64::from_str_radix(digits.trim(), 16).ok());
    // The hangup is signal 1, and has the lowest bit.
    ignored.is_some_and(|signals| signals & 1 == 1)
}

/// The exercise that a command for learners is about.
fn exercise(workspace: &Workspace, target: Target) -> anyhow::Result<Exercise> {
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
