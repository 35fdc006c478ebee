//! Runs of a service's program that end by themselves: with settings that it must refuse, and as its own health check.

use std::fs;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::process::Command;
use std::time::Duration;

use anyhow::Context as _;

use super::{Place, Played, Scenario, When, judge_all, outage, stage, steady};
use crate::build::launch::Launch;
use crate::scenarios::ContractTest;
use crate::service::proxy::DatabaseProxy;
use crate::service::{self, Service, Settings};
use workshop_base::scratch;
use workshop_base::workspace::Workspace;
use workshop_postgres::datasets::RunDatabase;
use workshop_requests::failure::Failure;
use workshop_requests::http::{Answer, Client};

pub use super::judged as test;

/// A setting that prevents the start: a variable and its value; `None` if it is not set at all.
pub type WrongSetting = (&'static str, Option<&'static str>);

/// The part of [`WRONG_SETTINGS`] that no message may repeat.
pub const SECRET: &str = "s3cret";

/// Each of these alone has to prevent the start.
pub const WRONG_SETTINGS: [WrongSetting; 16] = [
    ("PORT", Some("eighty")),
    ("PORT", Some("65536")),
    ("API_KEYS", None),
    ("API_KEYS", Some("")),
    ("API_KEYS", Some("s3cret,,another")),
    ("DATABASE_URL", None),
    (
        "DATABASE_URL",
        Some("mysql://user:s3cret@localhost/records"),
    ),
    ("DATABASE_POOL_SIZE", Some("0")),
    ("DATABASE_TIMEOUT_MS", Some("249")),
    ("DATABASE_TIMEOUT_MS", Some("1s")),
    ("DATABASE_TIMEOUT_MS", Some("99999999999")),
    ("MIGRATION_TIMEOUT_MS", Some("0")),
    ("EXPORT_TIMEOUT_MS", Some("-1")),
    ("EXPORT_DEADLINE_MS", Some("249")),
    ("EXPORT_DEADLINE_MS", Some("86400001")),
    ("LOG_LEVEL", Some("loud")),
];

/// The options that database providers add to their URLs.
const OF_PROVIDERS: &str = "application_name=records&connect_timeout=5&target_session_attrs=any&gssencmode=disable\
                            &channel_binding=prefer&sslmode=prefer";

/// The maximum duration of a run that should end at once: a JVM starts slowly.
const PATIENCE: Duration = Duration::from_secs(20);

pub static SCENARIO: Scenario = Scenario::new("short_runs", When::Waiting, 1, |place, tests| {
    Box::pin(play(place, tests))
});

async fn play(place: &Place<'_>, tests: &[&ContractTest]) -> anyhow::Result<Played> {
    let settings = Settings {
        // There is no such database: a health check doesn't need one, and the other runs end before they connect.
        database_url: place.server.url("short_runs"),
        ..stage::settings(steady::TIMEOUT)
    };
    let service = Service::start(place.workspace, place.launch, &settings).await?;
    let seen = ShortRuns::watch(place, &settings, service.address()).await?;
    // A failure shows the output of such a run, which has no other log.
    let statuses = judge_all(&seen, "", tests).await?;
    Ok(Played {
        statuses,
        leaving: vec![tokio::spawn(service.stop())],
    })
}

/// The observations of all runs.
#[derive(Debug)]
pub struct ShortRuns {
    /// One run for each of [`WRONG_SETTINGS`].
    pub refused: Vec<(WrongSetting, ShortRun)>,
    /// The answer to `/ready` of a service whose database is at an IPv6 address; `None` on a machine without IPv6.
    pub by_ipv6: Option<Result<Answer, Failure>>,
    /// The health check while the service runs.
    pub healthy: ShortRun,
    /// The health check while no service runs.
    pub nobody_there: ShortRun,
    /// The health check while a service hangs: it accepts connections, and answers nothing.
    pub silent: ShortRun,
}

#[derive(Debug)]
pub struct ShortRun {
    /// The exit code; `None` if the program did not end by itself.
    pub code: Option<i32>,
    /// Its output.
    pub output: String,
}

impl ShortRuns {
    /// Runs the program, one run after the other, beside a service that runs at this address.
    async fn watch(
        place: &Place<'_>,
        settings: &Settings,
        service: SocketAddr,
    ) -> anyhow::Result<ShortRuns> {
        let free = service::free_address()?;
        let health_check = |command: &mut Command| {
            command.arg("health");
        };
        // The system accepts connections before a program does. That run waits, so the others go on meanwhile.
        let hanging = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let silent = run(place, settings, hanging.local_addr()?, health_check);
        let refused = async {
            let mut refused = Vec::new();
            for wrong in WRONG_SETTINGS {
                let run = run(place, settings, free, |command| {
                    match wrong {
                        (variable, Some(value)) => command.env(variable, value),
                        (variable, None) => command.env_remove(variable),
                    };
                });
                refused.push((wrong, run.await?));
            }
            Ok(refused)
        };
        let (silent, refused) = tokio::try_join!(silent, refused)?;
        Ok(ShortRuns {
            refused,
            by_ipv6: {
                let database = RunDatabase::create(place.server).await?;
                let settings = Settings {
                    database_url: database.url().to_owned(),
                    ..settings.clone()
                };
                ready_by_ipv6(place.workspace, place.launch, &settings).await?
            },
            healthy: run(place, settings, service, health_check).await?,
            nobody_there: run(place, settings, free, health_check).await?,
            silent,
        })
    }
}

/// The answer to `/ready` of a service whose database is at an IPv6 address; `None` on a machine without one. The URL
/// has the options that providers add: a service may ignore them, and has to start.
pub(super) async fn ready_by_ipv6(
    workspace: &Workspace,
    launch: &Launch,
    settings: &Settings,
) -> anyhow::Result<Option<Result<Answer, Failure>>> {
    let at = Ipv6Addr::LOCALHOST.into();
    let Ok(proxy) = DatabaseProxy::start_at(at, &settings.database_url).await else {
        return Ok(None);
    };
    let settings = Settings {
        database_url: format!("{}?{OF_PROVIDERS}", proxy.url()),
        ..settings.clone()
    };
    let service = Service::start(workspace, launch, &settings).await?;
    let client = Client::new(service.base_url(), None)?;
    let ready = outage::settled(&client, "/ready").await;
    drop(client);
    service.stop().await;
    Ok(Some(ready))
}

async fn run(
    place: &Place<'_>,
    settings: &Settings,
    address: SocketAddr,
    change: impl Fn(&mut Command),
) -> anyhow::Result<ShortRun> {
    let output = scratch::log(place.workspace, "short-run")?;
    let mut command = service::command(place.launch, settings, address, output.path())?;
    change(&mut command);
    let mut child = tokio::process::Command::from(command)
        .kill_on_drop(true)
        .spawn()
        .with_context(|| format!("cannot run {}", place.launch.label))?;
    let status = tokio::time::timeout(PATIENCE, child.wait()).await;
    // A run that hasn't ended is killed before its output is read.
    let _ = child.kill().await;
    Ok(ShortRun {
        code: status.ok().transpose()?.and_then(|status| status.code()),
        output: String::from_utf8_lossy(&fs::read(output.path())?).into_owned(),
    })
}
