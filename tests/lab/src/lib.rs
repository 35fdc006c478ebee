//! The lab: the commands that measure, and those that show what was measured.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "the numbers of a test run are small, and figures are rounded for people"
)]

mod ages;
mod all;
mod board;
mod build;
mod calibrate;
mod endurance;
mod image;
mod measure;
mod report;

use workshop::cli::{LabCommand, LongRun, MeasureArgs};
use workshop::commands::Running;
use workshop::signals::{Interruption, until_interrupted};
use workshop_base::files;
use workshop_base::outcome::Outcome;
use workshop_base::workspace::Workspace;
use workshop_measure::tools::crowd;

pub fn run(workspace: &Workspace, command: LabCommand) -> Running<'_> {
    Box::pin(until_interrupted(
        interruption(&command),
        done(workspace, command),
    ))
}

fn interruption(command: &LabCommand) -> Interruption {
    match command {
        LabCommand::Report | LabCommand::Board { live: false, .. } => Interruption::AtOnce,
        // A measurement calls the peers, and ends them.
        LabCommand::Measure(MeasureArgs {
            long: Some(LongRun::Endurance(_)),
            ..
        })
        | LabCommand::PlayPeers { .. } => Interruption::InOrder,
        _ => Interruption::Dropped,
    }
}

async fn done(workspace: &Workspace, command: LabCommand) -> anyhow::Result<Outcome> {
    match command {
        LabCommand::Measure(MeasureArgs {
            long: Some(LongRun::Endurance(args)),
            ..
        }) => endurance::run(workspace, &args).await,
        LabCommand::Measure(MeasureArgs {
            long: Some(LongRun::All(args)),
            ..
        }) => all::run(workspace, args).await,
        LabCommand::Measure(args) => measure::run(workspace, &args).await,
        LabCommand::Calibrate(args) => calibrate::run(workspace, &args).await,
        LabCommand::Build(args) => build::run(workspace, &args).await,
        LabCommand::Image { target, keep } => image::run(workspace, target, keep).await,
        LabCommand::Report => report::run(workspace),
        LabCommand::Board {
            folder,
            live,
            minutes,
        } => {
            let folder = files::as_called(&folder);
            match (live, minutes) {
                (true, _) => board::live(workspace, &folder).await,
                (_, true) => board::minutes(workspace, &folder),
                _ => board::run(workspace, &folder),
            }
        }
        LabCommand::PlayPeers { base_url } => {
            crowd::play(&base_url).await?;
            Ok(Outcome::Passed)
        }
    }
}
