//! The provider `docker`: one named container per checkout, by testcontainers, kept and reused by every command.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::Context;
use testcontainers::bollard::models::PortBinding;
use testcontainers::core::ContainerPort;
use testcontainers::core::client::ClientError;
use testcontainers::runners::AsyncRunner;
use testcontainers::{
    ContainerAsync, ContainerRequest, GenericImage, ImageExt, ReuseDirective, TestcontainersError,
};

use crate::connection::{Address, START_LIMIT};
use crate::engine;
use crate::engine::{OFFICIAL, docker, look};
use crate::identity;
use crate::identity::{checkout_id, short_hash};
use crate::server::{Files, Server};
use crate::settings::{Provider, Settings};
use crate::{configuration, connection};
use workshop_base::outcome::{Trouble, last_lines};
use workshop_base::workspace::Workspace;
use workshop_base::{files, wait};

/// The label that says whose container it is.
const LABEL: &str = "workshop.checkout";

/// The label of an image that says whether its server has `pg_stat_statements`.
pub(crate) const STATEMENTS: &str = "workshop.statements";

/// The superuser of the server in the container.
const USER: &str = "workshop";

/// The server's port inside the container.
const PORT: ContainerPort = ContainerPort::Tcp(5432);

/// Counts how the container is made; another number makes another container.
const FORM: &str = "3";

/// Shared memory for parallel queries; Docker's 64 MB is too little for ten million rows.
const SHARED_MEMORY: u64 = 256 << 20;

/// Written when a container is made: without an engine, `just clean` says that there is one.
pub(crate) fn note(workspace: &Workspace) -> PathBuf {
    workspace.state().join("postgres/container")
}

/// The server in this checkout's container.
pub(crate) async fn ensure(settings: &Settings, workspace: &Workspace) -> anyhow::Result<Server> {
    engine::answers().await?;
    let image = image(settings).await?;
    files::write_atomically(&note(workspace), format!("{image}\n").as_bytes())?;
    // A container that was just being stopped is stopped by the second time, and starts again.
    match start(workspace, &image).await? {
        Ok(server) => Ok(server),
        Err(_) => start(workspace, &image).await?.map_err(Into::into),
    }
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

/// The image to start: the one asked for, else the official one, else the one of `just image`, whichever is here; else the
/// official one, which testcontainers pulls.
async fn image(settings: &Settings) -> anyhow::Result<String> {
    let wanted = settings.image.as_deref().unwrap_or(OFFICIAL);
    if look(&["image", "inspect", "--format", "{{.Id}}", wanted])
        .await?
        .is_some()
    {
        return Ok(wanted.to_owned());
    }
    if settings.image.is_none()
        && let Some(local) = engine::local_images().await?.pop()
    {
        return Ok(local);
    }
    eprintln!("pulling the image {wanted}");
    Ok(wanted.to_owned())
}

/// Starts the container and waits for an answer; the inner error is a server that does not stay up.
async fn start(workspace: &Workspace, image: &str) -> anyhow::Result<Result<Server, Trouble>> {
    // On this machine only its users may reach the server; a remote engine must publish to us.
    let local = is_local().await;
    let (container, password) = container(workspace, image, local).await?;
    // Another port after each start.
    let port = container.get_host_port_ipv4(PORT).await?;
    let host = if local {
        "127.0.0.1".to_owned()
    } else {
        container.get_host().await?.to_string()
    };
    let address = Address::ours(&host, port, USER, &password)?;
    let (id, url) = (container.id(), address.maintenance_url());
    let mut last = String::new();
    // Log lines are no sign of readiness: an image that is already initialized prints others than a new one.
    let answer = wait::within_saying(START_LIMIT, "the database", async || {
        match connection::connect(&url).await {
            Err(error) if !connection::is_refusal(&error) => last = connection::words(&error),
            result => return Some(result.context("the database refuses the tool").map(Ok)),
        }
        match look(&["inspect", "--format", "{{.State.Running}}", id]).await {
            Ok(running) if running.as_deref() == Some("true") => None,
            Ok(_) => Some(Ok(Err(died(image, id).await))),
            Err(error) => Some(Err(error)),
        }
    });
    let mut connection = match answer.await.transpose()? {
        Some(Ok(connection)) => connection,
        Some(Err(died)) => return Ok(Err(died)),
        None => return Err(silent(&last).into()),
    };
    let facts = connection::facts(&mut connection).await?;
    let folder = facts
        .data_directory
        .clone()
        .unwrap_or_else(|| "/".to_owned());
    let files = Files::Container(id.to_owned(), folder);
    let server = Server::found(
        Provider::Docker,
        workspace,
        address,
        (connection, facts),
        files,
    )
    .await;
    Ok(Ok(server.noted(format!("image {image}"))))
}

/// The container of this checkout, reused, restarted, or made; and the password that it was made with, which is kept there and
/// nowhere else.
async fn container(
    workspace: &Workspace,
    image: &str,
    local: bool,
) -> anyhow::Result<(ContainerAsync<GenericImage>, String)> {
    let checkout = checkout_id(workspace);
    let settings = configuration::parameters(true);
    let settings: Vec<String> = settings
        .into_iter()
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
        let statements = counts_statements(image).await?;
        let settings = configuration::parameters(statements).into_iter();
        command.extend(
            settings.flat_map(|(name, value)| ["-c".to_owned(), format!("{name}={value}")]),
        );
    }
    let container = request(image)
        .with_container_name(&name)
        .with_label(LABEL, &checkout)
        .with_env_var("POSTGRES_USER", USER)
        .with_env_var("POSTGRES_PASSWORD", &password)
        .with_env_var("POSTGRES_DB", "postgres")
        .with_env_var("POSTGRES_INITDB_ARGS", "--encoding=UTF8 --locale=C")
        .with_cmd(command)
        .with_shm_size(SHARED_MEMORY)
        .with_startup_timeout(START_LIMIT)
        .with_reuse(ReuseDirective::Always)
        .with_host_config_modifier(move |host| {
            let binding = PortBinding {
                host_ip: local.then(|| "127.0.0.1".to_owned()),
                host_port: Some(String::new()),
            };
            let bindings = HashMap::from([(PORT.to_string(), Some(vec![binding]))]);
            host.publish_all_ports = Some(false);
            host.port_bindings = Some(bindings);
        })
        .start()
        .await
        .map_err(|error| no_container(image, error))?;
    Ok((container, password))
}

/// A request for an image, with the one port that matters. No ready conditions: see [`connection::wait_until_it_answers`].
fn request(image: &str) -> ContainerRequest<GenericImage> {
    let (name, tag) = split_image(image);
    GenericImage::new(name, tag).with_exposed_port(PORT).into()
}

/// `registry:5000/postgres:18.1` is `registry:5000/postgres` and `18.1`; a digest stays whole.
fn split_image(image: &str) -> (&str, &str) {
    match image.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') => (name, tag),
        _ => (image, "latest"),
    }
}

/// False for an image of `just image` whose server has no `pg_stat_statements`; all others have it.
async fn counts_statements(image: &str) -> anyhow::Result<bool> {
    let format = format!("{{{{index .Config.Labels {STATEMENTS:?}}}}}");
    Ok(look(&["image", "inspect", "--format", &format, image])
        .await?
        .as_deref()
        != Some("false"))
}

fn no_container(image: &str, error: TestcontainersError) -> anyhow::Error {
    let TestcontainersError::Client(ClientError::PullImage { err, .. }) = error else {
        let what = format!("the Docker engine cannot start a container from {image}");
        return anyhow::Error::new(error).context(what);
    };
    let why = err.to_string();
    let why = why.lines().next().unwrap_or_default();
    Trouble::new(format!(
        "the image {image} is not here and cannot be pulled: {why}"
    ))
    .expected(format!(
        "{image} on this machine, or a registry that has it"
    ))
    .next("just image builds an image from the PostgreSQL on this machine; then try again")
    .into()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_name_is_split_at_its_tag_and_not_at_a_port() {
        assert_eq!(split_image("postgres:18.1"), ("postgres", "18.1"));
        assert_eq!(split_image("postgres"), ("postgres", "latest"));
        assert_eq!(
            split_image("registry:5000/postgres"),
            ("registry:5000/postgres", "latest")
        );
        assert_eq!(
            split_image("registry:5000/postgres:18"),
            ("registry:5000/postgres", "18")
        );
    }
}
