//! Where PostgreSQL will come from: what was chosen, a Docker engine and its image, server programs on the machine.

use tokio::time::timeout;

use crate::doctor::report::{Finding, State};
use workshop_base::fix::Fix;
use workshop_base::outcome::Trouble;
use workshop_base::probe::{self, QUICK};
use workshop_base::workspace::Workspace;
use workshop_postgres::{
    OFFICIAL_IMAGE, Provider, ProviderSettings, choice_file, docker_engine, docker_image,
    find_binaries,
};

/// All that is to say about PostgreSQL. The workshop works without Docker, unless it is asked for.
pub(super) async fn examine(workspace: &Workspace) -> Vec<Finding> {
    let settings = ProviderSettings::from_env();
    let asked = settings.as_ref().ok();
    let needs_docker = asked.is_some_and(|asked| asked.provider == Some(Provider::Docker));
    let image = asked.and_then(|asked| asked.image.as_deref());
    let checkout = workspace.clone();
    let (docker, binaries) = tokio::join!(
        docker(image),
        probe::in_time(QUICK, move || find_binaries(&checkout)),
    );
    let mut findings = vec![provider(workspace, &settings, &docker)];
    findings.extend(docker.into_iter().map(|finding| match needs_docker {
        true => finding,
        false => finding.optional(""),
    }));
    findings.push(match binaries.flatten() {
        Some(found) => {
            let detail = format!("{} in {}", found.version, found.bin.display());
            Finding::ok("binaries", detail)
        }
        None => Finding::note(
            "binaries",
            "no server programs found; Maven fetches them (15 MB) when they are needed",
        ),
    });
    findings
}

/// The engine as commands find it, and the image that is asked for on it.
async fn docker(asked: Option<&str>) -> Vec<Finding> {
    let engine = Finding::found("docker engine", docker_engine().await);
    if engine.state != State::Ok {
        return vec![engine];
    }
    let (name, wanted) = ("docker image", asked.unwrap_or(OFFICIAL_IMAGE));
    let image = match timeout(QUICK, docker_image(asked)).await {
        Ok(Ok(Some(image))) => Finding::ok(name, image),
        _ => {
            let detail = format!("{wanted} is not here yet; it is pulled at first use");
            let pull = format!("docker pull {wanted}, or docker load where there is no registry");
            Finding::fault("missing", name, detail, Fix::yourself(pull))
        }
    };
    vec![engine, image]
}

/// The provider that was chosen at the first use is kept until `just clean`.
fn provider(
    workspace: &Workspace,
    asked: &Result<ProviderSettings, Trouble>,
    docker: &[Finding],
) -> Finding {
    let name = "provider";
    let asked = match asked {
        Ok(asked) => asked,
        Err(trouble) => return Finding::of(name, trouble),
    };
    let kept = std::fs::read_to_string(choice_file(workspace)).unwrap_or_default();
    let is_ready = docker.iter().all(|finding| finding.state == State::Ok);
    let detail = match (asked.provider, kept.lines().next()) {
        // The URL holds a password; that it is set is all that is told of it.
        (None | Some(Provider::Url), _) if asked.url.is_some() => {
            "url, by WORKSHOP_DATABASE_URL (set, not shown)".to_owned()
        }
        (Some(provider), _) => format!("{provider}, by WORKSHOP_POSTGRES"),
        (None, Some(provider @ ("docker" | "embedded"))) => {
            let why = kept.lines().nth(1).map(|why| format!(", because {why}"));
            let why = why.unwrap_or_default();
            format!("{provider}, as at the first use{why}; just clean chooses again")
        }
        _ if is_ready => "docker, since an engine answers and has the image".to_owned(),
        _ if docker.len() > 1 => "docker where the image can be pulled, else embedded".to_owned(),
        _ => "embedded, since no Docker engine can be used".to_owned(),
    };
    Finding::ok(name, detail)
}
