//! The provider `docker`: one named container a checkout, by testcontainers, kept and reused by every command.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use futures_util::StreamExt;
use sqlx::postgres::PgConnectOptions;
use testcontainers::bollard::Docker;
use testcontainers::bollard::errors::Error as EngineError;
use testcontainers::bollard::exec::{CreateExecOptions, StartExecResults};
use testcontainers::bollard::models::{
    ContainerInspectResponse, ContainerStateStatusEnum, PortBinding,
};
use testcontainers::bollard::query_parameters::{
    InspectContainerOptions, InspectNetworkOptions, KillContainerOptionsBuilder,
    ListContainersOptionsBuilder, LogsOptionsBuilder, RemoveContainerOptionsBuilder,
    StartContainerOptions, StopContainerOptions,
};
use testcontainers::core::{ContainerPort, client};
use testcontainers::runners::AsyncRunner;
use testcontainers::{ContainerAsync, ContainerRequest, GenericImage, ImageExt, ReuseDirective};

use crate::Provide;
use crate::Provider;
use crate::Server;
use crate::Settings;
use crate::configuration;
use crate::connection;
use crate::free_port;
use crate::identity::checkout_id;
use crate::identity::hex;
use crate::identity::short_hash;
use crate::image;
use crate::server::Address;
use crate::server::Files;
use workshop_base::outcome::Trouble;
use workshop_base::workspace::Workspace;

/// The official image, where nothing else is asked for.
pub const OFFICIAL: &str = "postgres:18.1";

/// The label that says whose container it is.
const LABEL: &str = "workshop.checkout";

/// The superuser of the server in the container.
const USER: &str = "workshop";

/// The server's port inside the container.
const PORT: u16 = 5432;

/// Counts how the container is made; another number makes another container.
const FORM: &str = "2";

/// How long an engine may take to say that it is there.
const PING: Duration = Duration::from_secs(5);

/// Shared memory for parallel queries; Docker's 64 MB is too little for ten million rows.
const SHARED_MEMORY: u64 = 256 << 20;

/// The provider.
pub(super) struct Containers<'a> {
    settings: &'a Settings,
}

/// Which of the checkout's containers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// The one that every command uses.
    Main,
    /// One more, which tests stop and start.
    Spare,
}

/// The container of the spare server.
pub(super) struct Spare {
    engine: Docker,
    container: String,
    options: PgConnectOptions,
}

/// Why Docker cannot serve.
#[derive(Debug, thiserror::Error)]
pub(super) enum Unusable {
    /// Nothing listens.
    #[error("no Docker engine answers on {place}")]
    NoEngine { place: String },
    /// The socket is there, the user may not use it.
    #[error("this user may not use the Docker engine on {place}")]
    NoPermission { place: String },
    /// `DOCKER_HOST` says something that testcontainers cannot use.
    #[error("DOCKER_HOST is {value:?}, which testcontainers cannot use")]
    BadHost { value: String },
    /// The engine answers, there is no image and none can be had.
    #[error("the image {image} is not here and cannot be pulled: {why}")]
    NoImage { image: String, why: String },
    /// Anything else that the engine says.
    #[error("the Docker engine on {place} answers with an error: {why}")]
    Sick { place: String, why: String },
}

impl Unusable {
    /// The error for somebody who asked for Docker.
    pub(super) fn trouble(&self) -> Trouble {
        let trouble = Trouble::new(self.to_string());
        match self {
            Unusable::NoEngine { .. } => trouble.expected("a running Docker engine").next(format!(
                "start it (sudo systemctl start docker, or Docker Desktop); {}; without Docker: unset WORKSHOP_POSTGRES",
                elsewhere()
            )),
            Unusable::NoPermission { .. } => trouble
                .expected("membership in the group docker, or a rootless engine")
                .next("sudo usermod -aG docker \"$USER\", then log in again; without Docker: unset WORKSHOP_POSTGRES"),
            Unusable::BadHost { .. } => trouble
                .expected("unix:///path/to/docker.sock or tcp://host:port")
                .next("export DOCKER_HOST with one of the two, or unset it"),
            Unusable::NoImage { image, .. } => trouble
                .expected(format!("{image} on this machine, or a registry that has it"))
                .next("just image builds an image from the PostgreSQL on this machine; then try again"),
            Unusable::Sick { .. } => {
                trouble.expected("an answer").next("docker info says more; without Docker: unset WORKSHOP_POSTGRES")
            }
        }
    }
}

/// What to try when the engine is somewhere else: rootless Docker, Podman, Colima and Docker contexts are found by
/// `DOCKER_HOST` alone.
fn elsewhere() -> String {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let sockets = [
        runtime.as_ref().map(|folder| folder.join("docker.sock")),
        runtime
            .as_ref()
            .map(|folder| folder.join("podman/podman.sock")),
        home.as_ref()
            .map(|folder| folder.join(".colima/default/docker.sock")),
        home.as_ref().map(|folder| folder.join(".rd/docker.sock")),
    ];
    match sockets.into_iter().flatten().find(|socket| socket.exists()) {
        Some(socket) => format!("there is a socket in another place: export DOCKER_HOST=unix://{}", socket.display()),
        None => "rootless Docker, Podman, Colima and Docker contexts need DOCKER_HOST (docker context ls shows it)"
            .to_owned(),
    }
}

/// The engine, once it has answered.
///
/// # Errors
/// Why it cannot serve.
pub(super) async fn engine() -> Result<Docker, Unusable> {
    let named = std::env::var("DOCKER_HOST")
        .ok()
        .filter(|value| !value.is_empty());
    let place = named
        .clone()
        .unwrap_or_else(|| "/var/run/docker.sock".to_owned());
    let socket = match &named {
        None => Some(PathBuf::from("/var/run/docker.sock")).filter(|socket| socket.exists()),
        Some(value) => value.strip_prefix("unix://").map(PathBuf::from),
    };
    // Asked by hand first, since the client's errors do not say which of the three it is.
    if let Some(socket) = &socket {
        let answer = tokio::time::timeout(PING, tokio::net::UnixStream::connect(socket)).await;
        if let Ok(Err(error)) = answer {
            return Err(refusal(error.kind(), place));
        }
    }
    let engine = match client::docker_client_instance().await {
        Ok(engine) => engine,
        Err(client::ClientError::Init(EngineError::SocketNotFoundError(_))) => {
            return Err(Unusable::NoEngine { place });
        }
        Err(error) => {
            return Err(match named {
                Some(value) => Unusable::BadHost { value },
                None => Unusable::Sick {
                    place,
                    why: error.to_string(),
                },
            });
        }
    };
    match tokio::time::timeout(PING, engine.ping()).await {
        Ok(Ok(_)) => Ok(engine),
        Ok(Err(EngineError::DockerResponseServerError { message, .. })) => Err(Unusable::Sick {
            place,
            why: message,
        }),
        Ok(Err(_)) | Err(_) => Err(Unusable::NoEngine { place }),
    }
}

/// What a refused connection to the engine's socket means.
fn refusal(kind: std::io::ErrorKind, place: String) -> Unusable {
    match kind {
        std::io::ErrorKind::PermissionDenied => Unusable::NoPermission { place },
        _ => Unusable::NoEngine { place },
    }
}

impl<'a> Containers<'a> {
    /// A provider with these settings.
    pub(super) fn new(settings: &'a Settings) -> Self {
        Containers { settings }
    }

    /// The image to start: the one asked for, else the official one, else the one of `just image`, whichever is here;
    /// else the official one, pulled.
    ///
    /// # Errors
    /// When none is here and none can be pulled.
    pub(super) async fn image(&self, engine: &Docker) -> Result<String, Unusable> {
        let wanted = match &self.settings.image {
            Some(name) => name.clone(),
            None => {
                if !has_image(engine, OFFICIAL).await
                    && let Some(local) = newest_local_image(engine).await
                {
                    return Ok(local);
                }
                OFFICIAL.to_owned()
            }
        };
        if !has_image(engine, &wanted).await {
            eprintln!("pulling the image {wanted}");
            if let Err(error) = generic(&wanted).pull_image().await {
                return Err(Unusable::NoImage {
                    image: wanted,
                    why: first_line(&error.to_string()),
                });
            }
        }
        Ok(wanted)
    }

    /// The container of this checkout: reused, restarted, or made.
    async fn container(
        &self,
        engine: &Docker,
        workspace: &Workspace,
        image: &str,
        statements: bool,
        role: Role,
    ) -> anyhow::Result<(ContainerAsync<GenericImage>, String)> {
        let checkout = checkout_id(workspace);
        let parameters = configuration::parameters(statements);
        let settings: Vec<String> = parameters
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let form = short_hash(&[FORM, image, &settings.join(" ")]);
        // The engine finds a container by any part of its name, so neither name may hold the other.
        let (role_in_name, host_port) = match role {
            // The engine picks a port, another one at each start.
            Role::Main => ("", String::new()),
            // A fixed one, so that it is there again after a stop.
            Role::Spare => ("spare-", free_port()?.to_string()),
        };
        let name = format!("kotlin-to-rust-workshop-{role_in_name}{checkout}-{form}");
        let found = inspect(engine, &name).await?;
        let kept = found.as_ref().and_then(password_of);
        let password = kept.unwrap_or_else(|| hex(&rand::random::<[u8; 16]>()));
        if found.is_none() {
            eprintln!("starting a container from {image}");
        } else if state(found.as_ref()) == Some(ContainerStateStatusEnum::PAUSED) {
            engine
                .unpause_container(&name)
                .await
                .with_context(|| format!("cannot resume the container {name}"))?;
        }
        let mut command = vec!["postgres".to_owned()];
        command.extend(
            settings
                .iter()
                .flat_map(|setting| ["-c".to_owned(), setting.clone()]),
        );
        // On this machine nobody but its users may reach the server; a remote engine must publish to us.
        let loopback = is_local(engine).await;
        let container = generic(image)
            .with_container_name(&name)
            .with_label(LABEL, &checkout)
            .with_env_var("POSTGRES_USER", USER)
            .with_env_var("POSTGRES_PASSWORD", &password)
            .with_env_var("POSTGRES_DB", "postgres")
            .with_env_var("POSTGRES_INITDB_ARGS", "--encoding=UTF8 --locale=C")
            .with_cmd(command)
            .with_shm_size(SHARED_MEMORY)
            .with_startup_timeout(connection::START_LIMIT)
            .with_reuse(ReuseDirective::Always)
            .with_host_config_modifier(move |host| {
                let binding = PortBinding {
                    host_ip: loopback.then(|| "127.0.0.1".to_owned()),
                    host_port: Some(host_port.clone()),
                };
                host.publish_all_ports = Some(false);
                host.port_bindings = Some(HashMap::from([(
                    format!("{PORT}/tcp"),
                    Some(vec![binding]),
                )]));
            })
            .start()
            .await
            .with_context(|| {
                format!("the Docker engine does not start a container from {image}")
            })?;
        Ok((container, password))
    }

    /// Starts the container and waits for an answer.
    async fn start(
        &self,
        engine: &Docker,
        workspace: &Workspace,
        image: &str,
        statements: bool,
        role: Role,
    ) -> anyhow::Result<(Server, sqlx::PgConnection)> {
        let (container, password) = self
            .container(engine, workspace, image, statements, role)
            .await?;
        // Another port after each start.
        let port = container
            .get_host_port_ipv4(ContainerPort::Tcp(PORT))
            .await?;
        let host = if is_local(engine).await {
            "127.0.0.1".to_owned()
        } else {
            container.get_host().await?.to_string()
        };
        let address = Address {
            host,
            port,
            user: USER.to_owned(),
            password,
            maintenance: "postgres".to_owned(),
        };
        let mut connection =
            connection::wait_until_it_answers(&address.options("postgres"), async || {
                let found = inspect(engine, container.id()).await?;
                if state(found.as_ref()) == Some(ContainerStateStatusEnum::RUNNING) {
                    return Ok(());
                }
                Err(dead(engine, container.id(), image).await)
            })
            .await?;
        let facts = connection::facts(&mut connection).await?;
        let folder = facts.data_directory.unwrap_or_else(|| "/".to_owned());
        let server = Server {
            provider: Provider::Docker,
            checkout: checkout_id(workspace),
            address,
            version: facts.version,
            files: Files::Container(container.id().to_owned(), folder),
            notes: vec![format!("image {image}")],
            statements: facts.statements,
        };
        Ok((server, connection))
    }

    /// As [`Provide::ensure`], on an engine and with an image that are known to be there.
    ///
    /// # Errors
    /// When the container does not start or its server does not answer.
    pub(super) async fn ensure_on(
        &self,
        engine: &Docker,
        workspace: &Workspace,
        image: &str,
    ) -> anyhow::Result<Server> {
        let note = note(workspace);
        if let Some(folder) = note.parent() {
            std::fs::create_dir_all(folder)
                .with_context(|| format!("cannot make {}", folder.display()))?;
        }
        std::fs::write(&note, format!("{image}\n"))
            .with_context(|| format!("cannot write {}", note.display()))?;
        let (mut server, mut connection) =
            match self.start(engine, workspace, image, true, Role::Main).await {
                Err(error)
                    if error
                        .to_string()
                        .contains("could not access file \"pg_stat_statements\"") =>
                {
                    // An image without the extension: its server stops at once. Such a container is of no use.
                    remove(engine, &checkout_id(workspace), Some(image)).await?;
                    self.start(engine, workspace, image, false, Role::Main)
                        .await?
                }
                // A container that was just being stopped: it is stopped by now, and starts again.
                Err(error) if error.is::<Trouble>() => {
                    self.start(engine, workspace, image, true, Role::Main)
                        .await?
                }
                other => other?,
            };
        server.statements =
            server.statements && connection::count_statements(&mut connection).await;
        connection::close(connection).await;
        Ok(server)
    }
}

impl Containers<'_> {
    /// The container of the spare server, of the image that this server is of; it answers.
    ///
    /// # Errors
    /// When the container does not start or its server does not answer.
    pub(super) async fn spare(
        &self,
        workspace: &Workspace,
        main: &Server,
    ) -> anyhow::Result<(Spare, Server)> {
        let engine = engine().await.map_err(|unusable| unusable.trouble())?;
        let image = self
            .image(&engine)
            .await
            .map_err(|unusable| unusable.trouble())?;
        let (server, connection) = self
            .start(&engine, workspace, &image, main.statements, Role::Spare)
            .await?;
        connection::close(connection).await;
        let Files::Container(container, _) = &server.files else {
            bail!("a container's files are not in a container");
        };
        let spare = Spare {
            engine,
            container: container.clone(),
            options: server.address.options(&server.address.maintenance),
        };
        Ok((spare, server))
    }
}

impl Spare {
    /// Stops it as an administrator does: sessions are told and ended, and the data is written.
    ///
    /// # Errors
    /// When the engine cannot.
    pub(super) async fn stop(&self) -> anyhow::Result<()> {
        // Asked by SIGTERM, PostgreSQL waits until all its clients have gone. The official image says SIGINT; one that was
        // imported cannot say anything.
        let at_once = KillContainerOptionsBuilder::new().signal("SIGINT").build();
        let found = inspect(&self.engine, &self.container).await?;
        if state(found.as_ref()) == Some(ContainerStateStatusEnum::RUNNING) {
            self.engine
                .kill_container(&self.container, Some(at_once))
                .await
                .context("the Docker engine does not ask the spare server to stop")?;
        }
        // Waits for its end, and kills it when it does not come.
        self.engine
            .stop_container(&self.container, None::<StopContainerOptions>)
            .await
            .context("the Docker engine does not stop the spare server")
    }

    /// Starts it again, on the port that it had.
    ///
    /// # Errors
    /// When the engine cannot, or the server does not answer.
    pub(super) async fn start(&self) -> anyhow::Result<()> {
        self.engine
            .start_container(&self.container, None::<StartContainerOptions>)
            .await
            .context("the Docker engine does not start the spare server")?;
        let connection = connection::wait_until_it_answers(&self.options, async || Ok(())).await?;
        connection::close(connection).await;
        Ok(())
    }
}

impl Provide for Containers<'_> {
    async fn ensure(&self, workspace: &Workspace) -> anyhow::Result<Server> {
        let engine = engine().await.map_err(|unusable| unusable.trouble())?;
        let image = self
            .image(&engine)
            .await
            .map_err(|unusable| unusable.trouble())?;
        self.ensure_on(&engine, workspace, &image).await
    }

    async fn clean(&self, workspace: &Workspace) -> anyhow::Result<Vec<String>> {
        let engine = engine().await.map_err(|unusable| unusable.trouble())?;
        remove(&engine, &checkout_id(workspace), None).await
    }
}

/// Written when a container is made: without an engine, `just clean` says that there is one.
pub(super) fn note(workspace: &Workspace) -> PathBuf {
    workspace.state().join("postgres/container")
}

/// A request for an image, with the one port that matters. No ready conditions: see
/// [`connection::wait_until_it_answers`].
fn generic(image: &str) -> ContainerRequest<GenericImage> {
    let (name, tag) = split_image(image);
    GenericImage::new(name, tag)
        .with_exposed_port(ContainerPort::Tcp(PORT))
        .into()
}

/// `registry:5000/postgres:18.1` is `registry:5000/postgres` and `18.1`; a digest stays whole.
fn split_image(image: &str) -> (&str, &str) {
    match image.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') => (name, tag),
        _ => (image, "latest"),
    }
}

/// True when the engine shares our network, so that `127.0.0.1` is the same place for both. It does not when
/// `DOCKER_HOST` names another machine, or when we are in a container that was given the engine's socket. (We may also
/// be in a container that runs an engine of its own; then the bridge's address is one of ours.)
async fn is_local(engine: &Docker) -> bool {
    let named = std::env::var("DOCKER_HOST")
        .ok()
        .filter(|value| !value.is_empty());
    if named.is_some_and(|value| !value.starts_with("unix://")) {
        return false;
    }
    if !Path::new("/.dockerenv").exists() {
        return true;
    }
    let bridge = engine
        .inspect_network("bridge", None::<InspectNetworkOptions>)
        .await
        .ok();
    let addresses = bridge
        .and_then(|network| network.ipam?.config)
        .unwrap_or_default();
    let mut gateways = addresses.into_iter().filter_map(|address| address.gateway);
    gateways.all(|gateway| std::net::TcpListener::bind((gateway.as_str(), 0)).is_ok())
}

async fn has_image(engine: &Docker, image: &str) -> bool {
    engine.inspect_image(image).await.is_ok()
}

/// The newest image that `just image` built.
async fn newest_local_image(engine: &Docker) -> Option<String> {
    let images = image::local(engine).await;
    images
        .into_iter()
        .filter_map(|name| Some((split_image(&name).1.parse::<u32>().ok()?, name)))
        .max()
        .map(|(_, name)| name)
}

async fn inspect(
    engine: &Docker,
    container: &str,
) -> anyhow::Result<Option<ContainerInspectResponse>> {
    match engine
        .inspect_container(container, None::<InspectContainerOptions>)
        .await
    {
        Ok(found) => Ok(Some(found)),
        Err(EngineError::DockerResponseServerError {
            status_code: 404, ..
        }) => Ok(None),
        Err(error) => {
            Err(error).with_context(|| format!("cannot look at the container {container}"))
        }
    }
}

fn state(container: Option<&ContainerInspectResponse>) -> Option<ContainerStateStatusEnum> {
    container?.state.as_ref()?.status
}

/// The password that the container was made with: it is kept there and nowhere else.
fn password_of(container: &ContainerInspectResponse) -> Option<String> {
    let variables = container.config.as_ref()?.env.as_ref()?;
    variables
        .iter()
        .find_map(|variable| variable.strip_prefix("POSTGRES_PASSWORD="))
        .map(str::to_owned)
}

/// Why the server in the container is gone: the end of its log.
async fn dead(engine: &Docker, container: &str, image: &str) -> anyhow::Error {
    let options = LogsOptionsBuilder::new()
        .stdout(true)
        .stderr(true)
        .tail("12")
        .build();
    let mut lines = Vec::new();
    let mut logs = std::pin::pin!(engine.logs(container, Some(options)));
    while let Some(Ok(line)) = logs.next().await {
        lines.push(format!("  | {}", line.to_string().trim_end()));
    }
    Trouble::new(format!(
        "the container from {image} does not stay up; its last words:\n{}",
        lines.join("\n")
    ))
    .expected("a PostgreSQL server that stays up")
    .next("just clean removes it and its data; another image: WORKSHOP_POSTGRES_IMAGE")
    .into()
}

/// Removes the checkout's containers with their volumes: all of them, or those of one image.
async fn remove(
    engine: &Docker,
    checkout: &str,
    image: Option<&str>,
) -> anyhow::Result<Vec<String>> {
    let filters = HashMap::from([("label".to_owned(), vec![format!("{LABEL}={checkout}")])]);
    let options = ListContainersOptionsBuilder::new()
        .all(true)
        .filters(&filters)
        .build();
    let containers = engine
        .list_containers(Some(options))
        .await
        .context("cannot list the containers")?;
    let mut removed = Vec::new();
    for container in containers {
        let Some(id) = container
            .id
            .filter(|_| image.is_none() || container.image.as_deref() == image)
        else {
            continue;
        };
        let name = container
            .names
            .and_then(|names| names.into_iter().next())
            .unwrap_or_else(|| id.clone());
        let name = name.trim_start_matches('/');
        let options = RemoveContainerOptionsBuilder::new()
            .force(true)
            .v(true)
            .build();
        match engine.remove_container(&id, Some(options)).await {
            Ok(())
            | Err(EngineError::DockerResponseServerError {
                status_code: 404, ..
            }) => {}
            Err(error) => {
                return Err(error).with_context(|| format!("cannot remove the container {name}"));
            }
        }
        removed.push(format!("the container {name} and its data"));
    }
    Ok(removed)
}

/// The bytes free where the container keeps its data.
///
/// # Errors
/// When the container has no `df`, or an answer of it that cannot be read.
pub(super) async fn free_bytes(container: &str, folder: &str) -> anyhow::Result<u64> {
    let engine = engine().await.map_err(|unusable| unusable.trouble())?;
    let command = ["df", "-Pk", folder].map(str::to_owned).to_vec();
    let options = CreateExecOptions {
        attach_stdout: Some(true),
        cmd: Some(command),
        ..Default::default()
    };
    let exec = engine
        .create_exec(container, options)
        .await
        .context("cannot run df in the container")?;
    let mut text = String::new();
    if let StartExecResults::Attached { mut output, .. } = engine.start_exec(&exec.id, None).await?
    {
        while let Some(part) = output.next().await {
            text.push_str(&part?.to_string());
        }
    }
    let kibibytes = text
        .lines()
        .last()
        .and_then(|line| line.split_whitespace().nth(3)?.parse::<u64>().ok());
    Ok(kibibytes.with_context(|| format!("df in the container says: {text}"))? * 1024)
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
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

    #[test]
    fn each_way_of_having_no_docker_names_its_own_next_step() {
        let place = || "/var/run/docker.sock".to_owned();
        let denied = refusal(std::io::ErrorKind::PermissionDenied, place())
            .trouble()
            .to_string();
        assert!(
            denied.contains("may not use") && denied.contains("usermod -aG docker"),
            "{denied}"
        );
        let refused = refusal(std::io::ErrorKind::ConnectionRefused, place())
            .trouble()
            .to_string();
        assert!(
            refused.contains("no Docker engine answers") && refused.contains("DOCKER_HOST"),
            "{refused}"
        );
        let no_image = Unusable::NoImage {
            image: OFFICIAL.to_owned(),
            why: "no such host".to_owned(),
        };
        let no_image = no_image.trouble().to_string();
        assert!(
            no_image.contains(OFFICIAL) && no_image.contains("just image"),
            "{no_image}"
        );
    }
}
