//! Which provider serves a checkout: the one asked for, else the first that can, and then that one again.
//!
//! The first choice is kept in `.workshop/postgres/choice`, so that ten million rows made on one server are not made
//! again on another because an engine was started in between. `just clean` forgets it.

use std::path::PathBuf;

use anyhow::Context;

use crate::docker;

use crate::Provide;
use crate::Provider;
use crate::Server;
use crate::Settings;
use crate::docker::Containers;
use crate::embedded::Embedded;
use crate::url::Url;
use workshop_base::workspace::Workspace;

/// Where the choice is kept: the provider's name, and on the next line why it was not Docker.
pub fn file(workspace: &Workspace) -> PathBuf {
    workspace.state().join("postgres/choice")
}

/// The server of this checkout, from the provider that the settings lead to.
///
/// # Errors
/// When that provider cannot give one.
pub(super) async fn ensure(workspace: &Workspace, settings: &Settings) -> anyhow::Result<Server> {
    match (settings.provider, &settings.url) {
        (Some(Provider::Url) | None, Some(url)) => Url::new(url).ensure(workspace).await,
        (Some(Provider::Docker), _) => Containers::new(settings).ensure(workspace).await,
        (Some(Provider::Embedded | Provider::Url), _) => {
            Embedded::new(settings).ensure(workspace).await
        }
        (None, None) => first_that_can(workspace, settings).await,
    }
}

async fn first_that_can(workspace: &Workspace, settings: &Settings) -> anyhow::Result<Server> {
    let kept = std::fs::read_to_string(file(workspace)).unwrap_or_default();
    let mut lines = kept.lines();
    let why = match lines.next() {
        Some("embedded") => {
            let why = lines.next().unwrap_or_default();
            format!("chosen earlier because {why}; just clean chooses again")
        }
        before => match docker(workspace, settings).await {
            Ok(server) => {
                keep(workspace, "docker\n")?;
                return Ok(server);
            }
            Err(why) => {
                if before.is_none() {
                    keep(workspace, &format!("embedded\n{why}\n"))?;
                }
                format!("because {why}")
            }
        },
    };
    let mut server = Embedded::new(settings).ensure(workspace).await?;
    server.notes.push(why);
    Ok(server)
}

/// The container's server, or in one line why not.
async fn docker(workspace: &Workspace, settings: &Settings) -> Result<Server, String> {
    let containers = Containers::new(settings);
    let engine = docker::engine()
        .await
        .map_err(|unusable| unusable.to_string())?;
    let image = containers
        .image(&engine)
        .await
        .map_err(|unusable| unusable.to_string())?;
    let server = containers.ensure_on(&engine, workspace, &image).await;
    server.map_err(|error| {
        format!("{error:#}")
            .lines()
            .next()
            .unwrap_or_default()
            .to_owned()
    })
}

fn keep(workspace: &Workspace, choice: &str) -> anyhow::Result<()> {
    let path = file(workspace);
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make {}", folder.display()))?;
    }
    std::fs::write(&path, choice).with_context(|| format!("cannot write {}", path.display()))
}
