//! The database on a machine that services run on: a cluster of its own, which goes with the connection.

use anyhow::Context;
use tempfile::NamedTempFile;
use workshop_base::outcome::{Trouble, last_lines};
use workshop_base::process;
use workshop_base::program;
use workshop_base::scratch;
use workshop_base::workspace::Workspace;
use workshop_postgres::{Elsewhere, Server};

use super::host::{Held, Host};
use crate::service::free_address;

const SCRIPT: &str = include_str!("postgres.sh");
/// What the line begins with that says how the server is started.
const READY: &str = "workshop-postgres ";

/// A database server on the machine, which runs until this is dropped or the connection ends.
pub struct Database {
    /// The server, as this machine reaches it; a service there reaches it by the same URL.
    pub server: Server,
    _held: Held,
    _log: NamedTempFile,
}

impl Database {
    /// Makes the server there and waits until it answers here.
    pub async fn start(host: &Host, workspace: &Workspace) -> anyhow::Result<Database> {
        let place = host.name();
        println!("making a PostgreSQL on {place}, for as long as this takes");
        let port = free_address().context("no free port")?.port();
        let elsewhere = Elsewhere::new(port);
        let typed = made(host, &elsewhere).await?;
        let words: Vec<&str> = typed.split_whitespace().collect();
        host.borrow_port(port).await?;
        let log = scratch::log(workspace, "postgres-there")?;
        let pid_file = format!("{}/postgres.pid", host.folder);
        let mut held = host.hold(&pid_file, &words, log.reopen()?).await?;
        let server = tokio::select! {
            server = elsewhere.server(workspace, place) => server?,
            _ = held.ended() => {
                let said = last_lines(&std::fs::read_to_string(log.path()).unwrap_or_default());
                return Trouble::new(format!("PostgreSQL does not start on {place}; its log ends with{said}"))
                    .expected(format!("a server with its data in {}", host.folder))
                    .next("run it again, which takes another port; else mend what the log says")
                    .err();
            }
        };
        Ok(Database {
            server,
            _held: held,
            _log: log,
        })
    }
}

/// Has the cluster made; how its server is started.
async fn made(host: &Host, elsewhere: &Elsewhere) -> anyhow::Result<String> {
    let meminfo = host.said(&["cat", "/proc/meminfo"]).unwrap_or_default();
    let memory = process::kilobytes(&meminfo, "MemTotal:");
    let configuration = elsewhere.configuration(memory.map(|kilobytes| kilobytes * 1024));
    let input = format!("{}\n{configuration}", elsewhere.password());
    let arguments = [host.folder.as_str(), elsewhere.user()];
    let output = program::run(host.script(SCRIPT, "postgres", &arguments), &input).await?;
    let place = &host.destination;
    let trouble = Trouble::new(format!("there is no database on {place}"))
        .expected("PostgreSQL 14 or later there, and some hundred megabytes free in /var/tmp")
        .next(format!("ssh {place} sudo apt install postgresql"));
    let said = program::printed(&output, trouble)?;
    let how = said.lines().find_map(|line| line.strip_prefix(READY));
    Ok(how
        .context("the machine does not say how its PostgreSQL is started")?
        .to_owned())
}
