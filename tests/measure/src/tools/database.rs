//! The database's part: its ceiling without any service (pgbench), and its own time per request (pg_stat_statements).

use std::collections::{HashMap, HashSet};
use std::ops::RangeInclusive;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::Context;
use percent_encoding::percent_decode_str;
use sqlx::{Connection, PgConnection};
use url::Url;

use crate::tools;
use workshop_base::process::{self, Process};

/// Above this share of pgbench's throughput, a service's throughput is the database's.
pub const CEILING_SHARE: f64 = 0.8;

/// The throughput of the same read by pgbench with prepared statements and as many clients as a pool has connections.
pub async fn pgbench(
    pgbench: &Path,
    database_url: &str,
    ids: RangeInclusive<u32>,
    clients: u16,
    duration: Duration,
    scratch: &Path,
) -> anyhow::Result<f64> {
    let script = scratch.join("read.sql");
    std::fs::write(&script, read_script(&ids))
        .with_context(|| format!("cannot write {}", script.display()))?;
    let threads = process::cores().min(usize::from(clients));
    let seconds = duration.as_secs().max(1);
    let mut command = Command::new(pgbench);
    command
        .args(["--no-vacuum", "--protocol=prepared"])
        .args(["--client", &clients.to_string()])
        .args(["--jobs", &threads.to_string()])
        .args(["--time", &seconds.to_string()])
        .arg("--file")
        .arg(&script)
        // By the environment: a password on the command line would be seen by everybody on the machine.
        .envs(connection_environment(database_url)?);
    let typed = format!("pgbench --file {}", script.display());
    let text = tools::printed(command, &typed).await?;
    parse_tps(&text).context("pgbench printed no tps")
}

/// What the services do for one read, in pgbench's language.
fn read_script(ids: &RangeInclusive<u32>) -> String {
    format!(
        "\\set id random({}, {})\nSELECT id, value, odd, divisible_by_3, visited FROM records WHERE id = :id;\n",
        ids.start(),
        ids.end()
    )
}

fn parse_tps(text: &str) -> Option<f64> {
    let line = text.lines().find(|line| line.starts_with("tps = "))?;
    line["tps = ".len()..]
        .split_whitespace()
        .next()?
        .parse()
        .ok()
}

/// The connection of a URL as the variables that PostgreSQL's programs read.
fn connection_environment(database_url: &str) -> anyhow::Result<Vec<(&'static str, String)>> {
    let url = parsed(database_url)?;
    Ok(vec![
        ("PGHOST", url.host_str().unwrap_or("127.0.0.1").to_owned()),
        ("PGPORT", url.port().unwrap_or(5432).to_string()),
        ("PGUSER", percent_decoded(url.username())),
        (
            "PGPASSWORD",
            percent_decoded(url.password().unwrap_or_default()),
        ),
        ("PGDATABASE", database_of(&url)),
    ])
}

fn parsed(database_url: &str) -> anyhow::Result<Url> {
    // The URL is not shown in an error: it holds a password.
    let url = Url::parse(database_url).ok();
    url.context("the database URL is not a URL")
}

fn database_of(url: &Url) -> String {
    percent_decoded(url.path().trim_start_matches('/'))
}

fn percent_decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// Watches one database over a connection to another one of the same server.
#[derive(Debug)]
pub struct Watch {
    connection: PgConnection,
    database: String,
}

impl Watch {
    /// Over this connection, which is to the database that has the server's statistics.
    pub fn of(connection: PgConnection, database_url: &str) -> anyhow::Result<Watch> {
        Ok(Watch {
            connection,
            database: database_of(&parsed(database_url)?),
        })
    }

    /// How many clients are connected now; none when the server does not say.
    pub async fn connections(&mut self) -> Option<i64> {
        let sql = "SELECT count(*) FROM pg_stat_activity WHERE datname = $1 AND backend_type = 'client backend'";
        let count = sqlx::query_scalar(sql).bind(&self.database);
        count.fetch_one(&mut self.connection).await.ok()
    }

    /// The execution time of all statements so far, by pg_stat_statements; none where this user may not see it.
    pub async fn execution_time(&mut self) -> Option<Duration> {
        let sql = "SELECT sum(total_exec_time) FROM pg_stat_statements s JOIN pg_database d ON d.oid = s.dbid WHERE d.datname = $1";
        let sum = sqlx::query_scalar(sql).bind(&self.database);
        let sum: Option<f64> = sum.fetch_one(&mut self.connection).await.ok()?;
        Some(Duration::from_secs_f64(sum.unwrap_or(0.0).max(0.0) / 1e3))
    }
}

/// The name of PostgreSQL's processes.
const POSTGRES: &str = "postgres";
/// What the processes of a container are below.
const CONTAINED_BY: &str = "containerd-shim";

/// The processes of the server that answers on this connection, by the first of them. None where it isn't on this machine, or has
/// other numbers for its processes, as in a container.
pub async fn first_process(connection: &mut PgConnection) -> Option<u32> {
    let backend = sqlx::query_scalar("SELECT pg_backend_pid()");
    let backend: i32 = backend.fetch_one(connection).await.ok()?;
    let all = process::all();
    let is_postgres = |pid: &u32| all.get(pid).is_some_and(|process| process.name == POSTGRES);
    let backend = u32::try_from(backend).ok().filter(is_postgres)?;
    all.get(&backend)
        .map(|backend| backend.parent)
        .filter(is_postgres)
}

/// The CPU time so far of a server by its first process, or of those that may be it; those processes included that have ended. None
/// where there are none.
pub fn cpu(first: Option<u32>) -> Option<Duration> {
    match first {
        Some(first) => process::cpu(&[first]),
        None => {
            let all = process::all();
            let ours = processes(None, &all);
            let ours = ours.iter().filter_map(|pid| all.get(pid));
            ours.map(Process::cpu).reduce(|sum, cpu| sum + cpu)
        }
    }
}

/// The processes of a server, by its first. Where that isn't known, the server may be in a container, and its processes have other numbers
/// there: then those of all PostgreSQL servers in containers, or of all servers where none is in one.
pub fn processes(first: Option<u32>, all: &HashMap<u32, Process>) -> HashSet<u32> {
    if let Some(first) = first {
        return process::descendants(&[first], all);
    }
    let named = |pid: &u32, name: &str| all.get(pid).is_some_and(|process| process.name == name);
    let first_ones = all
        .iter()
        .filter(|(pid, process)| named(pid, POSTGRES) && !named(&process.parent, POSTGRES));
    let first_ones: Vec<u32> = first_ones.map(|(pid, _)| *pid).collect();
    let is_contained = |pid: &&u32| {
        let above = |pid: &u32| all.get(pid).map(|process| process.parent);
        let mut ancestors = std::iter::successors(Some(**pid), above).take(all.len());
        ancestors.any(|pid| named(&pid, CONTAINED_BY))
    };
    let contained: Vec<u32> = first_ones.iter().filter(is_contained).copied().collect();
    let ours = if contained.is_empty() {
        first_ones
    } else {
        contained
    };
    process::descendants(&ours, all)
}

/// Closes the connection of a watch, where there is one.
pub async fn close(watch: Option<Watch>) {
    if let Some(watch) = watch {
        // A connection that cannot be closed in order is closed by dropping it.
        let _ = watch.connection.close().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_read_from_what_pgbench_prints() {
        let text = "transaction type: read.sql\nlatency average = 0.21 ms\ntps = 46812.345678 (without initial connection time)\n";
        assert_eq!(parse_tps(text), Some(46_812.345_678));
        assert_eq!(parse_tps("pgbench: error"), None);
    }

    #[test]
    fn the_password_goes_by_the_environment_and_is_decoded() {
        let environment =
            connection_environment("postgres://us%20er:p%40ss%2Fw%C3%B6@127.0.0.1:5433/data")
                .unwrap();
        assert_eq!(
            environment,
            [
                ("PGHOST", "127.0.0.1".to_owned()),
                ("PGPORT", "5433".to_owned()),
                ("PGUSER", "us er".to_owned()),
                ("PGPASSWORD", "p@ss/wö".to_owned()),
                ("PGDATABASE", "data".to_owned()),
            ]
        );
        assert_eq!(percent_decoded("100%"), "100%");
    }

    #[test]
    fn pgbench_reads_the_same_ids_as_the_services() {
        let script = read_script(&(1000..=9999));
        assert!(
            script.starts_with("\\set id random(1000, 9999)\nSELECT id, value,"),
            "{script}"
        );
    }
}
