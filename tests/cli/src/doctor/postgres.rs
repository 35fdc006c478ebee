//! Where PostgreSQL will come from.

use crate::doctor::docker::{self, Engine};
use crate::doctor::report::Finding;
use workshop_base::outcome::Trouble;
use workshop_base::probe::{self, QUICK};
use workshop_base::workspace::Workspace;
use workshop_postgres::{Provider, Settings, choice_file, find_binaries};

/// All that is to say about PostgreSQL: what will be used, Docker's state, the server programs on the machine.
pub(super) async fn examine(workspace: &Workspace) -> Vec<Finding> {
    let settings = Settings::from_env();
    let needed = matches!(&settings, Ok(asked) if asked.provider == Some(Provider::Docker));
    let image = settings.as_ref().ok().and_then(|asked| asked.image.clone());
    let checkout = workspace.clone();
    let ((docker, engine), binaries) = tokio::join!(
        docker::examine(image.as_deref()),
        probe::in_time(QUICK, move || find_binaries(&checkout)),
    );
    let mut findings = vec![provider(workspace, settings, engine)];
    let docker = docker.into_iter();
    findings.extend(docker.map(|finding| {
        if needed {
            finding
        } else {
            finding.optional("")
        }
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

/// The provider that was chosen at the first use is kept until `just clean`.
fn provider(workspace: &Workspace, asked: Result<Settings, Trouble>, engine: Engine) -> Finding {
    let name = "provider";
    let asked = match asked {
        Ok(asked) => asked,
        Err(trouble) => return Finding::of(name, &trouble),
    };
    let kept = std::fs::read_to_string(choice_file(workspace)).unwrap_or_default();
    let detail = match (asked.provider, kept.lines().next(), engine) {
        // The URL holds a password; that it is set is all that is told of it.
        (None | Some(Provider::Url), ..) if asked.url.is_some() => {
            "url, by WORKSHOP_DATABASE_URL (set, not shown)".to_owned()
        }
        (Some(provider), ..) => format!("{provider}, by WORKSHOP_POSTGRES"),
        (_, Some(kept @ ("docker" | "embedded")), _) => {
            format!("{kept}, as at the first use; just clean chooses again")
        }
        (.., Engine::Ready) => "docker, since an engine answers and has the image".to_owned(),
        (.., Engine::WithoutImage) => {
            "docker where the image can be pulled, else embedded".to_owned()
        }
        (.., Engine::No) => "embedded, since no Docker engine can be used".to_owned(),
    };
    Finding::ok(name, detail)
}
