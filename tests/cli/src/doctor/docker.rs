//! Docker: client, engine, the way to it, and the image. The workshop works without.

use std::env;
use std::path::Path;

use crate::doctor::checks::{Expected, judge};
use crate::doctor::report::{Finding, State};
use workshop_base::fix::{self, Fix, Manager, System};
use workshop_base::probe::{self, Answer, QUICK};
use workshop_postgres::{OFFICIAL_IMAGE, image, usual_sockets};

/// Where rootless Docker, Podman and Colima listen, below the folder that a variable names; testcontainers doesn't look there.
const ELSEWHERE: [(&str, &str); 3] = [
    ("XDG_RUNTIME_DIR", "docker.sock"),
    ("XDG_RUNTIME_DIR", "podman/podman.sock"),
    ("HOME", ".colima/default/docker.sock"),
];

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

pub(super) async fn examine() -> (Vec<Finding>, Engine) {
    let variable = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
    let asked = variable("WORKSHOP_POSTGRES_IMAGE");
    let wanted = asked.as_deref().unwrap_or(OFFICIAL_IMAGE);
    let docker = async |args: &[&str]| probe::ask("docker", args, Path::new("/"), QUICK).await;
    let host = "{{.Name}} {{.Endpoints.docker.Host}}";
    let host = ["context", "inspect", "--format", host];
    let inspect = ["image", "inspect", "--format", "{{.Id}}", wanted];
    let (client, engine, endpoint, inspected, built) = tokio::join!(
        docker(&["--version"]),
        docker(&["version", "--format", "{{.Server.Version}}"]),
        docker(&host),
        docker(&inspect),
        docker(&[
            "image",
            "ls",
            "--format",
            "{{.Repository}}:{{.Tag}}",
            image::NAME
        ]),
    );
    if client == Answer::Absent {
        return (vec![no_client()], Engine::No);
    }
    let install = System::here().install(&fix::DOCKER);
    let client = judge("docker client", &client, &Expected::Any, install);
    let engine = judge_engine(&engine);
    if engine.state != State::Ok {
        return (vec![client, engine], Engine::No);
    }
    let named = variable("DOCKER_HOST").is_some();
    let host = endpoint
        .line()
        .and_then(|endpoint| judge_endpoint(endpoint, named));
    // The local image stands in for the official one, not for one that was asked for.
    let built = built.line().filter(|_| asked.is_none());
    let image = judge_image(wanted, inspected.line().is_some(), built);
    let usable = match (&host, image.state) {
        (Some(host), _) if host.state != State::Ok => Engine::No,
        (_, State::Ok) => Engine::Ready,
        _ => Engine::WithoutImage,
    };
    let findings = [Some(client), Some(engine), host, Some(image)];
    (findings.into_iter().flatten().collect(), usable)
}

fn no_client() -> Finding {
    let elsewhere = ELSEWHERE.into_iter();
    let elsewhere = elsewhere
        .filter_map(|(variable, path)| Some(Path::new(&env::var_os(variable)?).join(path)));
    let mut sockets = usual_sockets().into_iter().chain(elsewhere);
    let name = "docker client";
    let Some(socket) = sockets.find(|socket| socket.exists()) else {
        let fix = System::here().install(&fix::DOCKER);
        return Finding::fault("missing", name, "not on the PATH", fix);
    };
    let socket = socket.display();
    let detail = format!("not on the PATH, but something listens on {socket}");
    let fix = Fix::yourself(format!("export DOCKER_HOST=unix://{socket}"));
    Finding::fault("missing", name, detail, fix)
}

fn judge_engine(answer: &Answer) -> Finding {
    let system = System::here();
    let name = "docker engine";
    let fix = |how: &str| match system.manager {
        Some(Manager::Brew) => Fix::yourself(format!("colima {how} (or start Docker Desktop)")),
        _ => system.as_administrator(&format!("systemctl {how} docker")),
    };
    match answer {
        Answer::Said(version) if !version.is_empty() => Finding::ok(name, version),
        Answer::Silent(limit) => {
            let detail = format!("docker version did not end in {} s", limit.as_secs());
            Finding::fault("silent", name, detail, fix("restart"))
        }
        Answer::Refused(text) if text.contains("permission denied") => {
            let join = "usermod --append --groups docker \"$USER\" && newgrp docker";
            let fix = system.as_administrator(join);
            Finding::fault("refused", name, "you have no permission to talk to it", fix)
        }
        _ => Finding::fault(
            "missing",
            name,
            "no engine answers the docker command",
            fix("start"),
        ),
    }
}

/// testcontainers finds an engine by `DOCKER_HOST` and in the usual places; it knows nothing of docker's contexts.
fn judge_endpoint(context_and_host: &str, named: bool) -> Option<Finding> {
    let name = "docker host";
    if named {
        return Some(Finding::ok(name, "by DOCKER_HOST"));
    }
    let (context, host) = context_and_host.split_once(' ')?;
    let socket = Path::new(host.strip_prefix("unix://")?);
    if usual_sockets().iter().any(|usual| usual == socket) {
        return None;
    }
    let detail = format!(
        "the context {context} is used by docker only; the workshop finds its engine by DOCKER_HOST"
    );
    let fix = Fix::yourself(format!("export DOCKER_HOST={host}"));
    Some(Finding::fault("hidden", name, detail, fix))
}

fn judge_image(image: &str, here: bool, built: Option<&str>) -> Finding {
    let name = "docker image";
    match built {
        _ if here => Finding::ok(name, image),
        Some(built) => Finding::ok(name, format!("{built}, built by just image")),
        None => {
            let detail = format!("{image} is not here yet; it is pulled at first use");
            let pull = format!("docker pull {image}, or just image where there is no registry");
            Finding::fault("missing", name, detail, Fix::yourself(pull))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_context_that_testcontainers_does_not_see_is_named_with_the_line_that_fixes_it() {
        let finding = judge_endpoint("colima unix:///home/x/.colima/default/docker.sock", false);
        let fix = finding.and_then(|finding| finding.fix);
        let expected = "export DOCKER_HOST=unix:///home/x/.colima/default/docker.sock";
        assert_eq!(fix, Some(Fix::yourself(expected)));
        assert_eq!(
            judge_endpoint("default unix:///var/run/docker.sock", false),
            None
        );
        let named = judge_endpoint("colima unix:///somewhere", true);
        assert_eq!(named.map(|finding| finding.state), Some(State::Ok));
    }
}
