//! A checkout of its own for each test, with its own server, cleaned up whatever happens.

#![allow(dead_code)]

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use sqlx::PgConnection;
use tempfile::TempDir;
use testcontainers::bollard::Docker;
use testcontainers::bollard::query_parameters::{
    KillContainerOptions, ListContainersOptionsBuilder, StopContainerOptionsBuilder,
};
use testcontainers::core::client::docker_client_instance;
use workshop_base::workspace::Workspace;
use workshop_postgres::Provider;
use workshop_postgres::Server;

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

    /// The tool, about to run in this checkout.
    pub fn tool(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_workshop"));
        command
            .args(arguments)
            .env("WORKSHOP_ROOT", self.workspace.root());
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }
}

impl Drop for Checkout {
    fn drop(&mut self) {
        let workspace = self.workspace.clone();
        // On a thread of its own: a test's runtime cannot block in a destructor.
        let cleaner = std::thread::spawn(move || {
            tokio::runtime::Runtime::new()
                .map(|runtime| runtime.block_on(workshop_postgres::clean(&workspace, false)))
        });
        match cleaner.join() {
            Ok(Ok(Ok(_))) => {}
            other => eprintln!("the test's server was not cleaned up: {other:?}"),
        }
    }
}

/// Runs `probe` until it gives something, at most [`PATIENCE`].
pub async fn eventually<T>(what: &str, mut probe: impl AsyncFnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = probe().await {
            return found;
        }
        assert!(
            start.elapsed() < PATIENCE,
            "{what} did not happen within {} s",
            PATIENCE.as_secs()
        );
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Ends a server of ours from outside, politely or not, and waits until it is gone.
pub async fn end_server(server: &Server, politely: bool) {
    match server.provider() {
        Provider::Url => panic!("a server that the user runs is not ours to end"),
        Provider::Docker => {
            let (engine, id) = container(server).await;
            if politely {
                let options = StopContainerOptionsBuilder::new().t(5).build();
                engine
                    .stop_container(&id, Some(options))
                    .await
                    .expect("the container to stop");
            } else {
                engine
                    .kill_container(&id, None::<KillContainerOptions>)
                    .await
                    .expect("the container to be killed");
            }
        }
        Provider::Embedded => {
            let pid = postmaster(server).await;
            kill(
                pid,
                if politely {
                    Signal::SIGINT
                } else {
                    Signal::SIGKILL
                },
            )
            .expect("a signal to the server");
        }
    }
    eventually("the end of the server", async || {
        server
            .connect_for_maintenance()
            .await
            .is_err()
            .then_some(())
    })
    .await;
}

async fn postmaster(server: &Server) -> Pid {
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

async fn container(server: &Server) -> (Docker, String) {
    let engine = docker_client_instance().await.expect("a Docker client");
    let filters = std::collections::HashMap::from([(
        "label".to_owned(),
        vec![format!("workshop.checkout={}", server.checkout())],
    )]);
    let options = ListContainersOptionsBuilder::new()
        .all(true)
        .filters(&filters)
        .build();
    let containers = engine
        .list_containers(Some(options))
        .await
        .expect("a list of containers");
    assert_eq!(containers.len(), 1, "one container a checkout");
    let id = containers
        .into_iter()
        .next()
        .and_then(|container| container.id)
        .expect("an id");
    (engine, id)
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

/// What a finished tool left: exit code and all it printed.
pub fn finished(child: Child) -> (Option<i32>, String) {
    let output = child.wait_with_output().expect("the tool's output");
    let text = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    (output.status.code(), text)
}
