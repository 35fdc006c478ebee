//! The Docker engine: whether one answers, and what it is asked through the `docker` command. What testcontainers can do, it does:
//! see [`crate::docker`].

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;

use workshop_base::fix::{DOCKER, Fix, Manager, System};
use workshop_base::outcome::Trouble;
use workshop_base::probe::{self, ProbeAnswer};

/// The official image, where nothing else is asked for.
pub const OFFICIAL: &str = "postgres:18.1";

/// How long an engine may take to say that it is there.
const PING: Duration = Duration::from_secs(5);

/// How long the engine may take for anything else: stopping a container, removing a volume of gigabytes.
const PATIENCE: Duration = Duration::from_secs(120);

/// How the ways on end when the user has asked for Docker.
const WITHOUT: &str = "without Docker: unset WORKSHOP_POSTGRES";

/// Where engines listen, below the folder that a variable names, as testcontainers looks for them.
const SOCKETS: [(&str, &str); 5] = [
    ("", "/var/run/docker.sock"),
    ("", "/run/docker.sock"),
    ("XDG_RUNTIME_DIR", ".docker/run/docker.sock"),
    ("HOME", ".docker/run/docker.sock"),
    ("HOME", ".docker/desktop/docker.sock"),
];

/// The sockets where testcontainers finds an engine by itself.
fn usual_sockets() -> Vec<PathBuf> {
    let sockets = SOCKETS
        .iter()
        .filter_map(|(variable, path)| match *variable {
            "" => Some(PathBuf::from(path)),
            variable => Some(Path::new(&std::env::var_os(variable)?).join(path)),
        });
    sockets.collect()
}

/// The address of the engine: `DOCKER_HOST`, else the first of the usual sockets that is there.
pub(crate) fn host() -> String {
    let named = std::env::var("DOCKER_HOST").ok();
    named.filter(|host| !host.is_empty()).unwrap_or_else(|| {
        let found = usual_sockets().into_iter().find(|socket| socket.exists());
        let socket = found.unwrap_or_else(|| SOCKETS[0].1.into());
        format!("unix://{}", socket.display())
    })
}

/// The version of the engine that answers, and where it does; the first line of the error says why none does.
pub async fn answers() -> Result<String, Trouble> {
    let host = host();
    if !["unix://", "tcp://", "http"]
        .iter()
        .any(|scheme| host.starts_with(scheme))
    {
        return Err(Trouble::new(format!(
            "DOCKER_HOST is {host:?}, which testcontainers cannot use"
        ))
        .expected("unix:///path/to/docker.sock or tcp://host:port")
        .next("export DOCKER_HOST with one of the two, or unset it"));
    }
    if std::env::var_os("DOCKER_TLS_VERIFY").is_some_and(|value| !value.is_empty()) {
        return Err(Trouble::new(
            "DOCKER_TLS_VERIFY is set, and the course has no certificates for a Docker engine",
        )
        .expected("an engine on this machine, or none: everything works without one")
        .next(
            "unset DOCKER_TLS_VERIFY DOCKER_HOST DOCKER_CERT_PATH, or WORKSHOP_POSTGRES=embedded",
        ));
    }
    match ask(&["version", "--format", "{{.Server.Version}}"], PING).await? {
        Ok(version) => Ok(format!("{version} on {host}")),
        Err(why) if why.contains("permission denied") => {
            let what = format!("this user may not use the Docker engine on {host}");
            let join = "usermod --append --groups docker \"$USER\" && newgrp docker";
            let fix = System::here().as_administrator(join);
            Err(Trouble::fault("refused", what, fix)
                .expected("membership in the group docker, or a rootless engine")
                .next(format!("log in again; {WITHOUT}")))
        }
        Err(_) => {
            let what = format!("no Docker engine answers on {host}");
            let trouble = match elsewhere(&host).await {
                None => Trouble::fault("missing", what, service("start")),
                Some(other) => {
                    let fix = Fix::yourself(format!("export DOCKER_HOST={other}"));
                    let what = format!("{what}; the docker command itself uses {other}");
                    Trouble::fault("hidden", what, fix)
                }
            };
            Err(trouble
                .expected("a running Docker engine, or Docker Desktop; one elsewhere (rootless Docker, Podman, Colima) needs DOCKER_HOST")
                .next(WITHOUT))
        }
    }
}

/// What starts the engine, or restarts it.
fn service(how: &str) -> Fix {
    let system = System::here();
    match system.manager {
        Some(Manager::Brew) => Fix::yourself(format!("colima {how} (or start Docker Desktop)")),
        _ => system.as_administrator(&format!("systemctl {how} docker")),
    }
}

/// Where the docker command itself finds an engine, if that is not here: it knows contexts (rootless Docker, Podman, Colima),
/// testcontainers knows `DOCKER_HOST` alone.
async fn elsewhere(here: &str) -> Option<String> {
    let question = [
        "context",
        "inspect",
        "--format",
        "{{.Endpoints.docker.Host}}",
    ];
    let answer = probe::ask("docker", &question, Path::new("/"), PING).await;
    let host = answer.line().filter(|host| !host.is_empty());
    host.filter(|host| *host != here).map(str::to_owned)
}

/// What the docker command prints; `None` when it refuses, which it does when the thing asked about is not there.
pub(crate) async fn look(args: &[&str]) -> anyhow::Result<Option<String>> {
    Ok(ask(args, PATIENCE).await?.ok())
}

/// What the docker command prints; its refusal is an error.
pub(crate) async fn docker(args: &[&str]) -> anyhow::Result<String> {
    ask(args, PATIENCE).await?.map_err(|why| {
        let (host, command) = (host(), args.join(" "));
        let what = format!("the Docker engine on {host} refuses `docker {command}`: {why}");
        let next = format!("docker info says more; {WITHOUT}");
        Trouble::new(what).expected("an answer").next(next).into()
    })
}

async fn ask(args: &[&str], limit: Duration) -> Result<Result<String, String>, Trouble> {
    let host = host();
    let args = [&["--host", &host], args].concat();
    match probe::ask("docker", &args, Path::new("/"), limit).await {
        ProbeAnswer::Said(text) => Ok(Ok(text)),
        ProbeAnswer::Refused(why) => Ok(Err(why)),
        ProbeAnswer::Silent(limit) => {
            let limit = limit.as_secs();
            let what = format!("the Docker engine on {host} gives no answer in {limit} s");
            Err(Trouble::fault("silent", what, service("restart")).next(WITHOUT))
        }
        ProbeAnswer::Absent => {
            let what = "there is no docker command on the PATH";
            Err(
                Trouble::fault("missing", what, System::here().install(&DOCKER))
                    .expected("Docker's client beside its engine")
                    .next(WITHOUT),
            )
        }
    }
}

/// The image with PostgreSQL that is asked for, or else the official one, if it is on this engine.
pub async fn image_here(asked: Option<&str>) -> anyhow::Result<Option<String>> {
    let image = asked.unwrap_or(OFFICIAL);
    let inspect = ["image", "inspect", "--format", "{{.Id}}", image];
    Ok(look(&inspect).await?.map(|_| image.to_owned()))
}

/// Saves the official image into a file; gives its name. `None` where no engine answers, or it doesn't have it.
pub async fn save_image(file: &Path) -> anyhow::Result<Option<String>> {
    if answers().await.is_err() {
        return Ok(None);
    }
    let image = image_here(None).await?;
    if let Some(image) = &image {
        let file = file.to_string_lossy();
        docker(&["image", "save", "--output", &file, image]).await?;
    }
    Ok(image)
}

/// The bytes free where a container keeps its data.
pub(crate) async fn free_bytes(container: &str, folder: &str) -> anyhow::Result<u64> {
    let text = docker(&["exec", container, "df", "-Pk", folder]).await?;
    let free = text
        .lines()
        .last()
        .and_then(|line| line.split_whitespace().nth(3));
    let kibibytes: Option<u64> = free.and_then(|number| number.parse().ok());
    Ok(kibibytes.with_context(|| format!("df in the container says: {text}"))? * 1024)
}
