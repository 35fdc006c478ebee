//! How long making a data set takes, side by side with the plainest way: one `INSERT … SELECT` and the primary key, by
//! psql, on the same server. `workshop seed full --against-psql`.

use std::time::{Duration, Instant};

use anyhow::Context;

use crate::datasets::names::Names;

use crate::datasets::names::close;

use crate::datasets::names::drop_database;

use crate::datasets::names::execute;

use crate::Lock;
use crate::Server;
use crate::binaries::Binaries;
use crate::datasets::DataSet;
use crate::datasets::build;
use crate::datasets::names::try_claim;
use crate::datasets::records;
use crate::datasets::room;
use workshop_base::outcome::Trouble;
use workshop_base::workspace::Workspace;

/// One comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    /// psql, in the rounds before and after ours.
    pub psql: [Duration; 2],
    /// Ours, with vacuum, statistics and verification.
    pub ours: Duration,
}

impl Comparison {
    /// Ours divided by the mean of psql's two.
    pub fn ratio(&self) -> f64 {
        2.0 * self.ours.as_secs_f64() / (self.psql[0] + self.psql[1]).as_secs_f64()
    }
}

/// Makes the data set three times, by psql, by us, by psql, each in a database that is dropped afterwards. What is
/// seeded stays as it is.
///
/// # Errors
/// When there is no psql, or the server refuses or goes away.
pub async fn against_psql(
    server: &Server,
    workspace: &Workspace,
    set: DataSet,
) -> anyhow::Result<Comparison> {
    let psql = Binaries::find(workspace).and_then(|binaries| binaries.has("psql"));
    let psql = psql.unwrap_or_else(|| "psql".into());
    let _turn = Lock::take(workspace, &format!("seed-{set}"), &format!("seeds {set}")).await?;
    let names = Names::of(server.checkout());
    let mut maintenance = server.connect_for_maintenance().await?;
    names.sweep(&mut maintenance, None).await?;
    room::check(server, set).await?;
    let rows = records::ROWS
        .replace("$1", "1")
        .replace("$2", &set.rows().to_string());
    let script = format!("{}\n{rows};\n{}", records::CREATE, records::ADD_PRIMARY_KEY);
    let mut by_psql = Vec::new();
    let mut ours = Duration::ZERO;
    for round in 0..3 {
        let name = names.building(set);
        // Every round starts with the same amount of work waiting: none.
        let _ = execute(&mut maintenance, "CHECKPOINT".to_owned()).await;
        if round == 1 {
            eprintln!("by the tool");
            let start = Instant::now();
            build::build(server, &mut maintenance, &name, set).await?;
            ours = start.elapsed();
        } else {
            eprintln!("by psql");
            try_claim(&mut maintenance, &name).await?;
            execute(
                &mut maintenance,
                format!("CREATE DATABASE \"{name}\" TEMPLATE template0 ENCODING 'UTF8'"),
            )
            .await?;
            let start = Instant::now();
            run(&psql, &server.url(&name), &script).await?;
            by_psql.push(start.elapsed());
        }
        drop_database(&mut maintenance, &name).await?;
    }
    close(maintenance).await;
    let psql = by_psql.try_into().unwrap_or_default();
    Ok(Comparison { psql, ours })
}

async fn run(psql: &std::path::Path, url: &str, script: &str) -> anyhow::Result<()> {
    let mut child = tokio::process::Command::new(psql)
        .args(["--no-psqlrc", "--quiet", "--set", "ON_ERROR_STOP=1", "--dbname", url])
        .stdin(std::process::Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(|error| {
            Trouble::new(format!("psql does not start: {error}"))
                .expected("psql beside the server's programs or on the PATH")
                .next("install PostgreSQL's client programs (Debian, Ubuntu: sudo apt install postgresql-client)")
        })?;
    if let Some(mut input) = child.stdin.take() {
        tokio::io::AsyncWriteExt::write_all(&mut input, script.as_bytes())
            .await
            .context("psql does not listen")?;
    }
    let status = child.wait().await?;
    anyhow::ensure!(status.success(), "psql ends with {status}");
    Ok(())
}
