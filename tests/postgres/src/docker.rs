//! The provider `docker`: one named container per checkout, by testcontainers, kept and reused by every command.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context;

use crate::connection::{Address, START_LIMIT, USER};
use crate::engine::{self, OFFICIAL, docker, look};
use crate::identity::{self, checkout_id, short_hash};
use crate::server::{Files, Server};
use crate::settings::{Provider, ProviderSettings};
use crate::{configuration, connection};
use workshop_base::container::{ContainerAnswer, PROGRAM, WantedContainer};
use workshop_base::outcome::{Trouble, last_lines};
use workshop_base::process::memory_limit;
use workshop_base::program::{self, cargo_command};
use workshop_base::workspace::Workspace;
use workshop_base::{files, wait};

/// The label that says whose container it is.
const LABEL: &str = "workshop.checkout";

/// The server's port inside the container.
const PORT: u16 = 5432;

/// Counts how the container is made; another number makes another container.
const FORM: &str = "3";

/// Shared memory for parallel queries; Docker's 64 MB is too little for ten million rows.
const SHARED_MEMORY: u64 = 256 << 20;

/// Written when a container is made: without an engine, `just clean` says that there is one.
pub(crate) fn note(workspace: &Workspace) -> PathBuf {
    workspace.state().join("postgres/container")
}

/// The server in this checkout's container.
pub(crate) async fn ensure(
    settings: &ProviderSettings,
    workspace: &Workspace,
) -> anyhow::Result<Server> {
    engine::answers().await?;
    let asked = settings.image.as_deref();
    let image = asked.unwrap_or(OFFICIAL);
    if engine::image_here(asked).await?.is_none() {
        // By testcontainers.
        eprintln!("pulling the image {image}");
    }
    files::write_atomically(&note(workspace), format!("{image}\n").as_bytes())?;
    let (mut id, mut address) = start(workspace, image).await?;
    let (mut last, mut restarted) = (String::new(), false);
    // Log lines are no sign of readiness: an image that is already initialized prints others than a new one.
    let answer = wait::within_saying(START_LIMIT, "the database", async || {
        match connection::connect(&address.maintenance_url()).await {
            Err(error) if !connection::is_refusal(&error) => last = connection::words(&error),
            result => return Some(result.context("the database refuses the tool")),
        }
        match look(&["inspect", "--format", "{{.State.Running}}", &id]).await {
            Ok(running) if running.as_deref() == Some("true") => return None,
            Ok(_) if restarted => return Some(Err(died(image, &id).await.into())),
            Ok(_) => restarted = true,
            Err(error) => return Some(Err(error)),
        }
        // One that was just being stopped starts again.
        match start(workspace, image).await {
            Ok(started) => (id, address) = started,
            Err(error) => return Some(Err(error)),
        }
        None
    });
    let answer = answer.await;
    let connection = answer.unwrap_or_else(|| Err(silent(&last).into()))?;
    let files = Files::Container(id);
    let server = Server::found(Provider::Docker, workspace, address, connection, files).await?;
    Ok(server.noted(&format!("image {image}")))
}

/// Removes this checkout's containers with their volumes; one line for each thing that is gone.
pub(crate) async fn clean(workspace: &Workspace) -> anyhow::Result<Vec<String>> {
    let label = format!("label={LABEL}={}", checkout_id(workspace));
    let names = docker(&["ps", "--all", "--filter", &label, "--format", "{{.Names}}"]).await?;
    for name in names.lines() {
        docker(&["rm", "--force", "--volumes", name]).await?;
    }
    Ok(names
        .lines()
        .map(|name| format!("the container {name} and its data"))
        .collect())
}

/// Starts this checkout's container, which is reused, restarted, or made; gives its id and the server's address. The port is
/// another one after each start, and the password is kept in the container and nowhere else.
async fn start(workspace: &Workspace, image: &str) -> anyhow::Result<(String, Address)> {
    let checkout = checkout_id(workspace);
    let parameters = configuration::parameters(memory_limit(), true).into_iter();
    let settings: Vec<String> = parameters
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let form = short_hash(&[FORM, image, &settings.join(" ")]);
    let name = format!("kotlin-to-rust-workshop-{checkout}-{form}");
    let format = "{{.State.Paused}}\n{{range .Config.Env}}{{println .}}{{end}}";
    let found = look(&["inspect", "--format", format, &name])
        .await?
        .unwrap_or_default();
    if found.starts_with("true") {
        docker(&["unpause", &name]).await?;
    }
    let password = found
        .lines()
        .find_map(|line| line.strip_prefix("POSTGRES_PASSWORD="));
    let password = password.map_or_else(identity::password, str::to_owned);
    let mut command = vec!["postgres".to_owned()];
    if found.is_empty() {
        eprintln!("starting a container from {image}");
        let options = settings.into_iter();
        command.extend(options.flat_map(|setting| ["-c".to_owned(), setting]));
    }
    let variables = [
        ("POSTGRES_USER", USER),
        ("POSTGRES_PASSWORD", &password),
        ("POSTGRES_DB", "postgres"),
        ("POSTGRES_INITDB_ARGS", "--encoding=UTF8 --locale=C"),
    ];
    let wanted = WantedContainer {
        image: image.to_owned(),
        name,
        labels: BTreeMap::from([(LABEL.to_owned(), checkout)]),
        variables: variables
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into(),
        command,
        port: PORT,
        shared_memory: SHARED_MEMORY,
        // On this machine only its users may reach the server; a remote engine must publish to us.
        only_local: is_local().await,
        patience: START_LIMIT,
    };
    match by_testcontainers(workspace, &wanted).await? {
        ContainerAnswer::Runs { id, host, port } => {
            Ok((id, Address::ours(&host, port, &password)?))
        }
        ContainerAnswer::NoImage(why) => Err(no_image(image, &why).into()),
    }
}

/// Asks the program that knows testcontainers, which is built first where it is not there yet.
async fn by_testcontainers(
    workspace: &Workspace,
    wanted: &WantedContainer,
) -> anyhow::Result<ContainerAnswer> {
    let command = Command::new(built(workspace).await?);
    let output = program::run(command, &serde_json::to_string(wanted)?).await?;
    let image = &wanted.image;
    let trouble = Trouble::new(format!(
        "the Docker engine cannot start a container from {image}"
    ))
    .expected("a container that runs")
    .next("docker info says more; without Docker: WORKSHOP_POSTGRES=embedded");
    let answer = program::printed(&output, trouble)?;
    serde_json::from_str(&answer).with_context(|| format!("{PROGRAM} says: {answer}"))
}

/// The program beside the tool; `justw` builds it anew with the tool, once it is there.
async fn built(workspace: &Workspace) -> anyhow::Result<PathBuf> {
    let tool = std::env::current_exe().context("the tool cannot see where it lies")?;
    let folder = tool
        .ancestors()
        .skip(1)
        // A test program lies one deeper.
        .find(|folder| !folder.ends_with("deps"))
        .context("the tool lies nowhere")?;
    let program = folder.join(PROGRAM);
    if !program.exists() {
        eprintln!("compiling {PROGRAM}, which asks the Docker engine, once");
        let mut cargo = cargo_command();
        cargo
            .args(["build", "--workspace", "--bin", PROGRAM, "--target-dir"])
            .arg(workspace.cargo_target())
            .current_dir(workspace.root())
            .stdin(Stdio::null());
        if !program::start(cargo)?.ended().await?.success() {
            return Trouble::new(format!("cargo could not build {PROGRAM}"))
                .expected("a program; see cargo's messages above")
                .next("just doctor; without Docker: WORKSHOP_POSTGRES=embedded")
                .err();
        }
    }
    Ok(program)
}

fn no_image(image: &str, why: &str) -> Trouble {
    let why = why.lines().next().unwrap_or_default();
    Trouble::new(format!(
        "the image {image} is not here and cannot be pulled: {why}"
    ))
    .expected(format!(
        "{image} on this machine, or a registry that has it"
    ))
    .next("docker load an image that was saved elsewhere, or name another: WORKSHOP_POSTGRES_IMAGE; without Docker: WORKSHOP_POSTGRES=embedded")
}

/// Why the server in the container is gone: the end of its log.
async fn died(image: &str, id: &str) -> Trouble {
    let log = docker(&["logs", "--tail", "12", id]).await;
    let log = last_lines(&log.unwrap_or_default());
    Trouble::new(format!(
        "the container from {image} has stopped; its log ends with{log}"
    ))
    .expected("a PostgreSQL server that keeps running")
    .next("just clean removes it and its data; another image: WORKSHOP_POSTGRES_IMAGE")
}

fn silent(last: &str) -> Trouble {
    let limit = START_LIMIT.as_secs();
    Trouble::new(format!(
        "the database does not answer after {limit} s: {last}"
    ))
    .expected("an answer to a connection")
    .next("just clean, then try again; just doctor shows what is here")
}

/// True when the engine shares our network, so that `127.0.0.1` is the same place for both. It does not when
/// `DOCKER_HOST` names another machine, or when we are in a container that was given the engine's socket. (We may also
/// be in a container that runs an engine of its own; then the bridge's address is one of ours.)
async fn is_local() -> bool {
    if !engine::host().starts_with("unix://") {
        return false;
    }
    if !Path::new("/.dockerenv").exists() {
        return true;
    }
    let format = "{{range .IPAM.Config}}{{println .Gateway}}{{end}}";
    let gateways = look(&["network", "inspect", "--format", format, "bridge"]).await;
    let gateways = gateways.ok().flatten().unwrap_or_default();
    gateways
        .lines()
        .all(|gateway| std::net::TcpListener::bind((gateway, 0)).is_ok())
}
