//! Which provider serves a checkout: the one asked for, else the first that can, and then that one again.
//!
//! The first choice is kept in `.workshop/postgres/choice`, so that ten million rows made on one server are not made
//! again on another because an engine was started in between. `just clean` forgets it.

use std::path::PathBuf;

use futures_util::future::LocalBoxFuture;

use crate::server::Server;
use crate::settings::{Provider, ProviderSettings};
use crate::url;
use crate::{docker, embedded};
use workshop_base::files;
use workshop_base::lock::Lock;
use workshop_base::workspace::Workspace;

/// Where the choice is kept: the provider's name, and on the next line why it was not Docker.
pub fn file(workspace: &Workspace) -> PathBuf {
    workspace.state().join("postgres/choice")
}

impl Server {
    /// The server of this checkout: found running, restarted, or made.
    pub fn ensure<'f>(workspace: &'f Workspace) -> LocalBoxFuture<'f, anyhow::Result<Server>> {
        Box::pin(async move { Self::ensure_with(workspace, &ProviderSettings::from_env()?).await })
    }

    /// As [`Server::ensure`], with settings from elsewhere than the environment.
    pub fn ensure_with<'f>(
        workspace: &'f Workspace,
        settings: &'f ProviderSettings,
    ) -> LocalBoxFuture<'f, anyhow::Result<Server>> {
        Box::pin(async move {
            let _turn = turn(workspace).await?;
            match (settings.provider, &settings.url) {
                (Some(Provider::Url) | None, Some(url)) => url::ensure(url, workspace).await,
                (Some(Provider::Docker), _) => docker::ensure(settings, workspace).await,
                (Some(Provider::Embedded | Provider::Url), _) => {
                    embedded::ensure(settings, workspace).await
                }
                (None, None) => first_that_can(workspace, settings).await,
            }
        })
    }
}

/// One command at a time starts or removes servers.
pub(crate) async fn turn(workspace: &Workspace) -> anyhow::Result<Lock> {
    let path = workspace.state().join("postgres.lock");
    Lock::take(&path, "starts the database").await
}

async fn first_that_can(
    workspace: &Workspace,
    settings: &ProviderSettings,
) -> anyhow::Result<Server> {
    let path = file(workspace);
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    let mut lines = kept.lines();
    let why = match lines.next() {
        // Why it was chosen is said at the first use, and by `just doctor`.
        Some("embedded") => return embedded::ensure(settings, workspace).await,
        before => match docker::ensure(settings, workspace).await {
            Ok(server) => {
                files::write_atomically(&path, b"docker\n")?;
                return Ok(server);
            }
            Err(error) => {
                let why = format!("{error:#}");
                let why = why.lines().next().unwrap_or_default();
                if before.is_none() {
                    files::write_atomically(&path, format!("embedded\n{why}\n").as_bytes())?;
                }
                format!("because {why}")
            }
        },
    };
    let server = embedded::ensure(settings, workspace).await?;
    Ok(server.noted(&format!("{why}; just clean chooses again")))
}
