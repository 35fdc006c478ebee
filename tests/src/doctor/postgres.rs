//! Where PostgreSQL will come from.

use super::docker::Engine;
use super::finding::{Finding, State};
use super::mend::Mend;

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

/// All that is to say about PostgreSQL: what will be used, Docker's state, the binaries on the machine.
pub(super) fn findings(
    choice: &Choice,
    engine: Engine,
    docker: Vec<Finding>,
    binaries: Option<String>,
) -> Vec<Finding> {
    let mut findings = vec![provider(choice, engine)];
    findings.extend(docker.into_iter().map(|finding| match choice {
        Choice::Docker => finding,
        _ => finding.optional(),
    }));
    findings.push(match binaries {
        Some(binaries) => Finding::ok("binaries", binaries),
        None => Finding::note(
            "binaries",
            "none on this machine; Maven fetches them (15 MB) when they are needed",
        ),
    });
    findings
}

fn provider(choice: &Choice, engine: Engine) -> Finding {
    let name = "provider";
    match choice {
        Choice::Automatic if engine == Engine::Answers => {
            Finding::ok(name, "docker, since an engine answers")
        }
        Choice::Automatic => Finding::ok(name, "embedded, since no Docker engine answers"),
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
