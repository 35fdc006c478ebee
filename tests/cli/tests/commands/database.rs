//! The database under the command line: what `just seed` says when it cannot have the server that was asked for, or is interrupted.
//! More tests of servers and data sets are in `tests/postgres`; these need the command.

#![allow(clippy::expect_used, clippy::unwrap_used)]

use std::process::{Child, Command, Stdio};

use crate::checkout::{Checkout, databases, eventually};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use workshop_postgres::datasets::{DataSet, seed};

#[test]
fn an_unknown_provider_ends_with_2_and_names_those_that_exist() {
    let checkout = Checkout::new();
    let child = tool(&checkout, &["seed", "small"])
        .env("WORKSHOP_POSTGRES", "podman")
        .spawn()
        .unwrap();
    let (code, text) = finished(child);
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("`url`, `docker`, `embedded`"), "{text}");
}

#[test]
fn docker_asked_for_and_no_engine_ends_with_2_and_says_how_to_go_on() {
    let checkout = Checkout::new();
    let child = tool(&checkout, &["seed", "small"])
        .env("WORKSHOP_POSTGRES", "docker")
        .env("DOCKER_HOST", "unix:///nowhere/docker.sock")
        .spawn()
        .unwrap();
    let (code, text) = finished(child);
    assert_eq!(code, Some(2), "{text}");
    assert!(
        text.contains("no Docker engine answers on unix:///nowhere/docker.sock"),
        "{text}"
    );
    assert!(text.contains("unset WORKSHOP_POSTGRES"), "{text}");
}

#[test]
fn a_docker_host_that_testcontainers_cannot_use_is_named() {
    let checkout = Checkout::new();
    let child = tool(&checkout, &["seed", "small"])
        .env("WORKSHOP_POSTGRES", "docker")
        .env("DOCKER_HOST", "ssh://elsewhere")
        .spawn()
        .unwrap();
    let (code, text) = finished(child);
    assert_eq!(code, Some(2), "{text}");
    assert!(
        text.contains("ssh://elsewhere") && text.contains("unix:///"),
        "{text}"
    );
}

#[test]
fn docker_not_asked_for_and_no_engine_falls_to_embedded_and_says_why_once() {
    let checkout = Checkout::new();
    let run = || {
        let child = tool(&checkout, &["seed", "small"])
            .env_remove("WORKSHOP_POSTGRES")
            .env_remove("WORKSHOP_DATABASE_URL")
            .env("DOCKER_HOST", "unix:///nowhere/docker.sock")
            .spawn()
            .unwrap();
        finished(child)
    };
    let (code, text) = run();
    assert_eq!(code, Some(0), "{text}");
    assert!(
        text.contains("embedded") && text.contains("because no Docker engine answers"),
        "{text}"
    );
    let (code, text) = run();
    assert_eq!(code, Some(0), "{text}");
    assert!(
        text.contains("embedded") && !text.contains("because"),
        "why is said once: {text}"
    );
}

#[tokio::test]
async fn an_interrupted_seed_cleans_up_and_ends_with_130() {
    let checkout = Checkout::new();
    let server = checkout.server().await;
    let mut connection = server.connect_for_maintenance().await.unwrap();
    let building = format!("workshop_{}_building_", server.checkout());
    let child = tool(&checkout, &["seed", "full"]).spawn().unwrap();
    eventually("the building of full", async || {
        (!databases(&mut connection, &building).await.is_empty()).then_some(())
    })
    .await;
    kill(pid(&child), Signal::SIGINT).unwrap();
    let (code, text) = finished(child);
    assert_eq!(code, Some(130), "{text}");
    assert!(
        text.contains("the unfinished full was removed; just seed full starts again"),
        "{text}"
    );
    assert_eq!(
        databases(&mut connection, server.checkout()).await,
        Vec::<String>::new()
    );
}

#[tokio::test]
async fn a_killed_seed_counts_for_nothing_and_is_swept_by_the_next() {
    let checkout = Checkout::new();
    let server = checkout.server().await;
    let mut connection = server.connect_for_maintenance().await.unwrap();
    let building = format!("workshop_{}_building_", server.checkout());
    let child = tool(&checkout, &["seed", "full"]).spawn().unwrap();
    let name = eventually("the building of full", async || {
        databases(&mut connection, &building).await.pop()
    })
    .await;
    kill(pid(&child), Signal::SIGKILL).unwrap();
    finished(child);
    assert_eq!(
        databases(&mut connection, server.checkout()).await,
        vec![name.clone()],
        "nothing counts as full"
    );
    eventually("the sweeping of the leftover", async || {
        seed(&server, &checkout.workspace, DataSet::Small)
            .await
            .unwrap();
        databases(&mut connection, &name)
            .await
            .is_empty()
            .then_some(())
    })
    .await;
}

/// The tool, about to run in a checkout.
fn tool(checkout: &Checkout, arguments: &[&str]) -> Command {
    let mut command = Command::new(crate::TOOL);
    command
        .args(arguments)
        .env("WORKSHOP_ROOT", checkout.workspace.root())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// What a finished tool left: exit code and all it printed.
fn finished(child: Child) -> (Option<i32>, String) {
    let output = child.wait_with_output().expect("the tool's output");
    let text = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    (output.status.code(), text)
}

fn pid(child: &std::process::Child) -> Pid {
    Pid::from_raw(i32::try_from(child.id()).unwrap())
}

#[test]
fn what_clean_has_to_leave_is_an_exit_code() {
    let folder = crate::folder::Folder::new();
    folder.passes(&["clean"]);
    // Databases on a server that a variable named, which is not set any more.
    folder.write(".workshop/postgres/url-server", "db.example:5432\n");
    let said = folder.fails(&["clean"], 1);
    assert!(
        said.contains("still there: databases on db.example:5432"),
        "{said}"
    );
}

#[test]
fn an_address_that_asks_for_tls_is_refused_without_its_password() {
    let folder = crate::folder::Folder::new();
    let url = "postgres://ada:secret@db.example:5432/course?sslmode=require";
    let output = folder
        .tool()
        .args(["seed", "small"])
        .env_remove("WORKSHOP_POSTGRES")
        .env("WORKSHOP_DATABASE_URL", url)
        .output()
        .unwrap();
    let said = crate::folder::everything(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("sslmode=require") && said.contains("next:"),
        "{said}"
    );
    assert!(!said.contains("secret"), "{said}");
}
