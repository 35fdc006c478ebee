//! Where PostgreSQL will come from.

use crate::doctor::docker::Engine;
use crate::doctor::finding::Finding;
use crate::doctor::finding::State;
use workshop_base::mend::Mend;
use workshop_base::probe;
use workshop_base::probe::QUICK;
use workshop_base::workspace::Workspace;
use workshop_postgres::choice_file;
use workshop_postgres::find_binaries;

/// The provider that the environment asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Choice {
    /// Nothing is asked for: the first that works.
    Automatic,
    Url,
    Docker,
    Embedded,
    /// `WORKSHOP_POSTGRES` has a value that means nothing.
    Unknown(String),
}

impl Choice {
    pub(super) fn from_environment() -> Self {
        let variable = |name: &str| {
            std::env::var(name)
                .ok()
                .filter(|value| !value.trim().is_empty())
        };
        match variable("WORKSHOP_POSTGRES").as_deref() {
            None if variable("WORKSHOP_DATABASE_URL").is_some() => Choice::Url,
            None => Choice::Automatic,
            Some("url") => Choice::Url,
            Some("docker") => Choice::Docker,
            Some("embedded") => Choice::Embedded,
            Some(other) => Choice::Unknown(other.to_owned()),
        }
    }
}

/// The provider that was chosen at the first use and is kept until `just clean`.
pub(super) fn kept(workspace: &Workspace) -> Option<String> {
    let text = std::fs::read_to_string(choice_file(workspace)).ok()?;
    text.lines()
        .next()
        .map(str::to_owned)
        .filter(|name| name == "docker" || name == "embedded")
}

/// PostgreSQL's server programs on this machine: version and folder.
pub(super) async fn binaries(workspace: &Workspace) -> Option<String> {
    let workspace = workspace.clone();
    let found = probe::in_time(QUICK, move || find_binaries(&workspace)).await??;
    Some(format!("{} in {}", found.version, found.bin.display()))
}

/// All that is to say about PostgreSQL: what will be used, Docker's state, the programs on the machine.
pub(super) fn findings(
    choice: &Choice,
    kept: Option<&str>,
    engine: Engine,
    docker: Vec<Finding>,
    binaries: Option<String>,
) -> Vec<Finding> {
    let mut findings = vec![provider(choice, kept, engine)];
    findings.extend(docker.into_iter().map(|finding| match choice {
        Choice::Docker => finding,
        _ => finding.optional(),
    }));
    findings.push(match binaries {
        Some(binaries) => Finding::ok("binaries", binaries),
        None => Finding::note(
            "binaries",
            "no server programs found; Maven fetches them (15 MB) when they are needed",
        ),
    });
    findings
}

fn provider(choice: &Choice, kept: Option<&str>, engine: Engine) -> Finding {
    let name = "provider";
    match choice {
        Choice::Automatic => match (kept, engine) {
            (Some(kept), _) => Finding::ok(
                name,
                format!("{kept}, as at the first use; just clean chooses again"),
            ),
            (None, Engine::Ready) => {
                Finding::ok(name, "docker, since an engine answers and has the image")
            }
            (None, Engine::WithoutImage) => {
                Finding::ok(name, "docker where the image can be pulled, else embedded")
            }
            (None, Engine::No) => Finding::ok(name, "embedded, since no Docker engine can be used"),
        },
        Choice::Docker => Finding::ok(name, "docker, by WORKSHOP_POSTGRES"),
        Choice::Embedded => Finding::ok(name, "embedded, by WORKSHOP_POSTGRES"),
        // The URL holds a password; that it is set is all that is told of it.
        Choice::Url
            if std::env::var_os("WORKSHOP_DATABASE_URL").is_some_and(|url| !url.is_empty()) =>
        {
            Finding::ok(name, "url, by WORKSHOP_DATABASE_URL (set, not shown)")
        }
        Choice::Url => Finding::fault(
            State::MISSING,
            name,
            "WORKSHOP_POSTGRES is url, but WORKSHOP_DATABASE_URL names no server",
            Mend::yourself(
                "export WORKSHOP_DATABASE_URL=postgres://user:password@host:port/database, or unset WORKSHOP_POSTGRES",
            ),
        ),
        Choice::Unknown(value) => Finding::fault(
            State::BROKEN,
            name,
            format!("WORKSHOP_POSTGRES is {value:?}; there are url, docker and embedded"),
            Mend::yourself("unset WORKSHOP_POSTGRES"),
        ),
    }
}
