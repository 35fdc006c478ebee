//! Docker: client, engine, the way to it, and the image. The workshop works without.

use std::path::{Path, PathBuf};

use crate::doctor::finding::Finding;

use crate::doctor::finding::State;
use workshop_base::mend;
use workshop_base::mend::Mend;
use workshop_base::mend::System;
use workshop_base::probe;
use workshop_base::probe::Answer;
use workshop_base::probe::QUICK;
use workshop_postgres::OFFICIAL_IMAGE;
use workshop_postgres::image;

/// Whether containers can be started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Engine {
    /// It answers the `docker` command and has an image.
    Ready,
    /// It answers, and the image has to come from a registry first.
    WithoutImage,
    /// It does not, or there is none.
    No,
}

pub(super) async fn examine(system: &System) -> (Vec<Finding>, Engine) {
    let asked = std::env::var("WORKSHOP_POSTGRES_IMAGE")
        .ok()
        .filter(|image| !image.is_empty());
    let wanted = asked.as_deref().unwrap_or(OFFICIAL_IMAGE);
    let root = Path::new("/");
    let endpoint = [
        "context",
        "inspect",
        "--format",
        "{{.Name}} {{.Endpoints.docker.Host}}",
    ];
    let inspect = ["image", "inspect", "--format", "{{.Id}}", wanted];
    let built = [
        "image",
        "ls",
        "--format",
        "{{.Repository}}:{{.Tag}}",
        image::NAME,
    ];
    let (client, engine, endpoint, inspected, built) = tokio::join!(
        probe::ask("docker", &["--version"], root, QUICK),
        probe::ask(
            "docker",
            &["version", "--format", "{{.Server.Version}}"],
            root,
            QUICK
        ),
        probe::ask("docker", &endpoint, root, QUICK),
        probe::ask("docker", &inspect, root, QUICK),
        probe::ask("docker", &built, root, QUICK),
    );
    if client == Answer::Absent {
        return (
            vec![no_client(system, &sockets(|path| path.exists()))],
            Engine::No,
        );
    }
    let mut findings = vec![crate::doctor::rust::simple(
        "docker client",
        client,
        system.install(&mend::DOCKER),
    )];
    let engine_finding = judge_engine(system, &engine);
    let answers = engine_finding.state == State::Ok;
    findings.push(engine_finding);
    if !answers {
        return (findings, Engine::No);
    }
    let mut hidden = false;
    if let Answer::Said(endpoint) = endpoint
        && let Some(finding) =
            judge_endpoint(&endpoint, std::env::var("DOCKER_HOST").ok().as_deref())
    {
        hidden = finding.state != State::Ok;
        findings.push(finding);
    }
    // The local image stands in for the official one, not for one that was asked for.
    let built = match built {
        Answer::Said(names) if asked.is_none() => names.lines().next().map(str::to_owned),
        _ => None,
    };
    let image = judge_image(wanted, &inspected, built.as_deref());
    let engine = match image.state {
        _ if hidden => Engine::No,
        State::Ok => Engine::Ready,
        _ => Engine::WithoutImage,
    };
    findings.push(image);
    (findings, engine)
}

fn no_client(system: &System, sockets: &[PathBuf]) -> Finding {
    let mend = system.install(&mend::DOCKER);
    match sockets.first() {
        None => Finding::fault(State::MISSING, "docker client", "not on the PATH", mend),
        Some(socket) => Finding::fault(
            State::MISSING,
            "docker client",
            format!(
                "not on the PATH, but something listens on {}",
                socket.display()
            ),
            Mend::yourself(format!("export DOCKER_HOST=unix://{}", socket.display())),
        ),
    }
}

fn judge_engine(system: &System, answer: &Answer) -> Finding {
    let name = "docker engine";
    match answer {
        Answer::Said(version) if !version.is_empty() => Finding::ok(name, version.as_str()),
        Answer::Silent(limit) => Finding::fault(
            State::SILENT,
            name,
            format!("docker version did not end in {} s", limit.as_secs()),
            start(system, "restart"),
        ),
        Answer::Refused(text) if text.contains("permission denied") => {
            let mut mend = system.as_administrator("usermod --append --groups docker \"$USER\"");
            for (_, command) in &mut mend.commands {
                command.push_str(" && newgrp docker");
            }
            Finding::fault(
                State::Fault("refused"),
                name,
                "you have no permission to talk to it",
                mend,
            )
        }
        Answer::Refused(_) | Answer::Said(_) | Answer::Absent => Finding::fault(
            State::MISSING,
            name,
            "no engine answers the docker command",
            start(system, "start"),
        ),
    }
}

fn start(system: &System, how: &str) -> Mend {
    match system.manager() {
        Some(mend::Manager::Brew) => {
            Mend::yourself(format!("colima {how} (or start Docker Desktop)"))
        }
        _ => system.as_administrator(&format!("systemctl {how} docker")),
    }
}

/// testcontainers finds an engine by `DOCKER_HOST` and in the usual places; it knows nothing of docker's contexts.
fn judge_endpoint(context_and_host: &str, docker_host: Option<&str>) -> Option<Finding> {
    let (context, host) = context_and_host
        .split_once(' ')
        .unwrap_or(("?", context_and_host));
    if docker_host.is_some_and(|host| !host.is_empty()) {
        return Some(Finding::ok("docker host", "by DOCKER_HOST"));
    }
    let socket = Path::new(host.strip_prefix("unix://")?);
    if usual_sockets().iter().any(|usual| usual == socket) {
        return None;
    }
    Some(Finding::fault(
        State::Fault("hidden"),
        "docker host",
        format!(
            "the context {context} is used by docker only; the workshop finds its engine by DOCKER_HOST"
        ),
        Mend::yourself(format!("export DOCKER_HOST={host}")),
    ))
}

fn judge_image(image: &str, inspected: &Answer, built: Option<&str>) -> Finding {
    match (inspected, built) {
        (Answer::Said(_), _) => Finding::ok("docker image", image),
        (_, Some(built)) => Finding::ok("docker image", format!("{built}, built by just image")),
        _ => Finding::fault(
            State::MISSING,
            "docker image",
            format!("{image} is not here yet; it is pulled at first use"),
            Mend::yourself(format!(
                "docker pull {image}, or just image where there is no registry"
            )),
        ),
    }
}

/// Where testcontainers looks by itself.
fn usual_sockets() -> Vec<PathBuf> {
    let mut sockets = vec![
        PathBuf::from("/var/run/docker.sock"),
        PathBuf::from("/run/docker.sock"),
    ];
    if let Some(runtime) = std::env::var_os("XDG_RUNTIME_DIR") {
        sockets.push(Path::new(&runtime).join(".docker/run/docker.sock"));
    }
    if let Some(home) = std::env::var_os("HOME") {
        sockets.push(Path::new(&home).join(".docker/run/docker.sock"));
        sockets.push(Path::new(&home).join(".docker/desktop/docker.sock"));
    }
    sockets
}

/// Sockets of engines that are there without the `docker` command, or beside it: rootless Docker, Podman, Colima.
fn sockets(exists: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
    let mut sockets = usual_sockets();
    if let Some(runtime) = std::env::var_os("XDG_RUNTIME_DIR") {
        sockets.push(Path::new(&runtime).join("docker.sock"));
        sockets.push(Path::new(&runtime).join("podman/podman.sock"));
    }
    if let Some(home) = std::env::var_os("HOME") {
        sockets.push(Path::new(&home).join(".colima/default/docker.sock"));
    }
    sockets.retain(|socket| exists(socket));
    sockets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_context_that_testcontainers_does_not_see_is_named_with_the_line_that_mends_it() {
        let finding = judge_endpoint("colima unix:///home/x/.colima/default/docker.sock", None);
        let command = finding
            .and_then(|finding| finding.mend)
            .map(|mend| mend.commands);
        let expected = "export DOCKER_HOST=unix:///home/x/.colima/default/docker.sock".to_owned();
        assert_eq!(command, Some(vec![(None, expected)]));
        assert_eq!(
            judge_endpoint("default unix:///var/run/docker.sock", None),
            None
        );
        let named = judge_endpoint("colima unix:///somewhere", Some("unix:///somewhere"));
        assert_eq!(named.map(|finding| finding.state), Some(State::Ok));
    }
}
