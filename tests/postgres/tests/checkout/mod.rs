//! A checkout of its own for each test, with its own server, cleaned up whatever happens.

#![allow(dead_code, clippy::expect_used)]

use std::process::Command;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use sqlx::PgConnection;
use tempfile::TempDir;
use workshop_base::wait::within;
use workshop_base::workspace::Workspace;
use workshop_postgres::{Provider, Server};

/// How long anything may take that a test waits for.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// An empty folder that counts as a checkout.
pub struct Checkout {
    pub workspace: Workspace,
    _folder: TempDir,
}

impl Checkout {
    pub fn new() -> Self {
        let folder = tempfile::Builder::new()
            .prefix("workshop-test-")
            .tempdir()
            .expect("a temporary folder");
        let root = folder
            .path()
            .canonicalize()
            .expect("the folder's real path");
        Checkout {
            workspace: Workspace::at(root),
            _folder: folder,
        }
    }

    /// The server of this checkout, from the provider that `WORKSHOP_POSTGRES` names.
    pub async fn server(&self) -> Server {
        Server::ensure(&self.workspace)
            .await
            .unwrap_or_else(|error| panic!("no server: {error:#}"))
    }
}

impl Drop for Checkout {
    fn drop(&mut self) {
        let workspace = self.workspace.clone();
        // On a thread of its own: a test's runtime cannot block in a destructor.
        let cleaner = std::thread::spawn(move || {
            tokio::runtime::Runtime::new()
                .map(|runtime| runtime.block_on(workshop_postgres::clean(&workspace)))
        });
        match cleaner.join() {
            Ok(Ok(Ok(_))) => {}
            other => eprintln!("the test's server was not cleaned up: {other:?}"),
        }
    }
}

/// Runs `probe` until it gives something, at most [`PATIENCE`].
pub async fn eventually<T>(what: &str, probe: impl AsyncFnMut() -> Option<T>) -> T {
    let found = within(PATIENCE, probe).await;
    found.unwrap_or_else(|| panic!("{what} did not happen within {} s", PATIENCE.as_secs()))
}

/// Ends a server of ours from outside, politely or not, and waits until it is gone.
pub async fn end_server(server: &Server, politely: bool) {
    match server.provider() {
        Provider::Url => panic!("a server that the user runs is not ours to end"),
        Provider::Docker => {
            let label = format!("label=workshop.checkout={}", server.checkout());
            let names = docker(&["ps", "--all", "--filter", &label, "--format", "{{.Names}}"]);
            assert_eq!(
                names.lines().count(),
                1,
                "one container per checkout: {names}"
            );
            docker(&[if politely { "stop" } else { "kill" }, names.trim()]);
        }
        Provider::Embedded => {
            let pid = postmaster(server).await;
            let signal = if politely {
                Signal::SIGINT
            } else {
                Signal::SIGKILL
            };
            kill(pid, signal).expect("a signal to the server");
        }
    }
    let gone = async || server.connect_for_maintenance().await.err();
    eventually("the end of the server", gone).await;
}

fn docker(args: &[&str]) -> String {
    let output = Command::new("docker").args(args).output().expect("docker");
    assert!(output.status.success(), "docker {args:?}: {output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The first process of an embedded server; all others are its children.
pub async fn postmaster(server: &Server) -> Pid {
    let mut connection = server
        .connect_for_maintenance()
        .await
        .expect("a connection");
    let folder: String = sqlx::query_scalar("SHOW data_directory")
        .fetch_one(&mut connection)
        .await
        .expect("the data folder");
    let lock = std::fs::read_to_string(format!("{folder}/postmaster.pid"))
        .expect("the server's lock file");
    Pid::from_raw(
        lock.lines()
            .next()
            .and_then(|line| line.trim().parse().ok())
            .expect("a process id"),
    )
}

/// The databases whose names contain `part`.
pub async fn databases(connection: &mut PgConnection, part: &str) -> Vec<String> {
    sqlx::query_scalar(
        "SELECT datname FROM pg_database WHERE position($1 in datname) > 0 ORDER BY datname",
    )
    .bind(part)
    .fetch_all(connection)
    .await
    .expect("a list of databases")
}
