//! Where PostgreSQL will come from.

use std::env;

use crate::doctor::docker::Engine;
use crate::doctor::report::Finding;
use workshop_base::fix::Fix;
use workshop_base::probe::{self, QUICK};
use workshop_base::workspace::Workspace;
use workshop_postgres::{choice_file, find_binaries};

/// PostgreSQL's server programs on this machine: version and folder.
pub(super) async fn binaries(workspace: &Workspace) -> Option<String> {
    let workspace = workspace.clone();
    let found = probe::in_time(QUICK, move || find_binaries(&workspace)).await??;
    Some(format!("{} in {}", found.version, found.bin.display()))
}

/// All that is to say about PostgreSQL: what will be used, Docker's state, the programs on the machine.
pub(super) fn findings(
    workspace: &Workspace,
    (docker, engine): (Vec<Finding>, Engine),
    binaries: Option<String>,
) -> Vec<Finding> {
    let variable = |name: &str| env::var(name).ok().filter(|value| !value.trim().is_empty());
    let choice = variable("WORKSHOP_POSTGRES");
    let has_url = variable("WORKSHOP_DATABASE_URL").is_some();
    let mut findings = vec![match choice.as_deref() {
        None if has_url => by_url(true),
        None => first_that_works(workspace, engine),
        Some("url") => by_url(has_url),
        Some(name @ ("docker" | "embedded")) => {
            Finding::ok("provider", format!("{name}, by WORKSHOP_POSTGRES"))
        }
        Some(unknown) => {
            let detail =
                format!("WORKSHOP_POSTGRES is {unknown:?}; there are url, docker and embedded");
            let fix = Fix::yourself("unset WORKSHOP_POSTGRES");
            Finding::fault("broken", "provider", detail, fix)
        }
    }];
    let needed = choice.as_deref() == Some("docker");
    let docker = docker.into_iter();
    findings.extend(docker.map(|finding| if needed { finding } else { finding.optional() }));
    findings.push(match binaries {
        Some(binaries) => Finding::ok("binaries", binaries),
        None => Finding::note(
            "binaries",
            "no server programs found; Maven fetches them (15 MB) when they are needed",
        ),
    });
    findings
}

/// The URL holds a password; that it is set is all that is told of it.
fn by_url(is_set: bool) -> Finding {
    if is_set {
        return Finding::ok("provider", "url, by WORKSHOP_DATABASE_URL (set, not shown)");
    }
    Finding::fault(
        "missing",
        "provider",
        "WORKSHOP_POSTGRES is url, but WORKSHOP_DATABASE_URL names no server",
        Fix::yourself(
            "export WORKSHOP_DATABASE_URL=postgres://user:password@host:port/database, or unset WORKSHOP_POSTGRES",
        ),
    )
}

/// The provider that was chosen at the first use is kept until `just clean`.
fn first_that_works(workspace: &Workspace, engine: Engine) -> Finding {
    let text = std::fs::read_to_string(choice_file(workspace)).unwrap_or_default();
    let detail = match (text.lines().next(), engine) {
        (Some(kept @ ("docker" | "embedded")), _) => {
            return Finding::ok(
                "provider",
                format!("{kept}, as at the first use; just clean chooses again"),
            );
        }
        (_, Engine::Ready) => "docker, since an engine answers and has the image",
        (_, Engine::WithoutImage) => "docker where the image can be pulled, else embedded",
        (_, Engine::No) => "embedded, since no Docker engine can be used",
    };
    Finding::ok("provider", detail)
}
