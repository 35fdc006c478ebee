//! Runs of a service's program that end by themselves: with settings that it must refuse, and as its own health check.

use std::fs;
use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;

use anyhow::Context;
use tempfile::NamedTempFile;

use super::{Place, Played, Scenario, Stage, When, judge_all, steady};
use crate::scenarios::ContractTest;
use crate::service;
use workshop_base::scratch;

pub use super::judged as test;

/// A setting that stops the start: a variable and its value; none when it is not set at all.
#[derive(Debug, Clone, Copy)]
pub struct WrongSetting {
    /// The variable.
    pub variable: &'static str,
    /// Its value.
    pub value: Option<&'static str>,
}

/// The part of [`WRONG_SETTINGS`] that no message may repeat.
pub const SECRET: &str = "s3cret";

/// Each of these alone has to stop the start.
pub const WRONG_SETTINGS: [WrongSetting; 13] = [
    wrong("PORT", Some("eighty")),
    wrong("PORT", Some("65536")),
    wrong("API_KEYS", None),
    wrong("API_KEYS", Some("")),
    wrong("API_KEYS", Some("s3cret,,another")),
    wrong("DATABASE_URL", None),
    wrong(
        "DATABASE_URL",
        Some("mysql://user:s3cret@localhost/records"),
    ),
    wrong("DATABASE_POOL_SIZE", Some("0")),
    wrong("DATABASE_TIMEOUT_MS", Some("249")),
    wrong("DATABASE_TIMEOUT_MS", Some("1s")),
    wrong("DATABASE_TIMEOUT_MS", Some("99999999999")),
    wrong("EXPORT_TIMEOUT_MS", Some("-1")),
    wrong("LOG_LEVEL", Some("loud")),
];

const fn wrong(variable: &'static str, value: Option<&'static str>) -> WrongSetting {
    WrongSetting { variable, value }
}

/// How long a run may take that is over at once: a JVM starts slowly.
const PATIENCE: Duration = Duration::from_secs(20);

pub static SCENARIO: Scenario = Scenario {
    name: "short_runs",
    when: When::Waiting,
    of_the_contract: true,
    play: |place, tests| Box::pin(play(place, tests)),
};

async fn play(place: &Place<'_>, tests: &[&ContractTest]) -> anyhow::Result<Played> {
    let stage = place.stage(steady::TIMEOUT).await?;
    let seen = ShortRuns::watch(place, &stage).await?;
    // A failure shows what such a run has written: it has no log beside that.
    let verdicts = judge_all(&seen, "", tests).await?;
    Ok(stage.leaves_with(verdicts))
}

/// What was observed of all runs.
#[derive(Debug)]
pub struct ShortRuns {
    /// One run for each of [`WRONG_SETTINGS`].
    pub refused: Vec<(WrongSetting, ShortRun)>,
    /// The health check of the service that runs.
    pub healthy: ShortRun,
    /// The health check of a service that does not run.
    pub nobody_there: ShortRun,
}

/// One run.
#[derive(Debug)]
pub struct ShortRun {
    /// The exit code; none when the program did not end by itself.
    pub code: Option<i32>,
    /// What it has written.
    pub output: String,
}

impl ShortRuns {
    /// Runs the program, one run after the other, beside a service that runs.
    async fn watch(place: &Place<'_>, stage: &Stage) -> anyhow::Result<ShortRuns> {
        let free = service::free_address()?;
        let run =
            async |address, change: &dyn Fn(&mut Command)| run(place, stage, address, change).await;
        let mut refused = Vec::new();
        for wrong in WRONG_SETTINGS {
            let change = |command: &mut Command| {
                match wrong.value {
                    Some(value) => command.env(wrong.variable, value),
                    None => command.env_remove(wrong.variable),
                };
            };
            refused.push((wrong, run(free, &change).await?));
        }
        let health_check = |command: &mut Command| {
            command.arg("health");
        };
        Ok(ShortRuns {
            refused,
            healthy: run(stage.service.address(), &health_check).await?,
            nobody_there: run(free, &health_check).await?,
        })
    }
}

async fn run(
    place: &Place<'_>,
    stage: &Stage,
    address: SocketAddr,
    change: &dyn Fn(&mut Command),
) -> anyhow::Result<ShortRun> {
    let output =
        NamedTempFile::with_prefix_in(scratch::owned("short-run"), place.workspace.logs())?;
    let mut command = service::command(
        place.launch,
        &stage.context.settings,
        address,
        output.path(),
    )?;
    change(&mut command);
    let mut child = tokio::process::Command::from(command)
        .kill_on_drop(true)
        .spawn()
        .with_context(|| format!("cannot run {}", place.launch.label))?;
    let status = match tokio::time::timeout(PATIENCE, child.wait()).await {
        Ok(status) => Some(status?),
        Err(_still_running) => {
            child.kill().await?;
            None
        }
    };
    Ok(ShortRun {
        code: status.and_then(|status| status.code()),
        output: String::from_utf8_lossy(&fs::read(output.path())?).into_owned(),
    })
}
