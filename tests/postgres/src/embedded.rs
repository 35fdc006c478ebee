//! The provider `embedded`: a PostgreSQL server of our own, started from programs on this machine, without Docker.

use std::path::Path;

use anyhow::Context;

use crate::account;
use crate::binaries::Binaries;
use crate::cluster::{Cluster, clusters};
use crate::server::{Files, Server};
use crate::settings::{BinariesFrom, Provider, ProviderSettings};
use crate::{home, maven};
use workshop_base::outcome::Trouble;
use workshop_base::workspace::Workspace;

/// This checkout's own server.
pub(crate) async fn ensure(
    settings: &ProviderSettings,
    workspace: &Workspace,
) -> anyhow::Result<Server> {
    let home = home::home(settings, workspace)?;
    let mut cluster = cluster(settings, workspace, &home).await?;
    let connection = cluster.start().await?;
    let (address, files) = (cluster.address()?, Files::Here);
    Server::found(Provider::Embedded, workspace, address, connection, files).await
}

/// Stops this checkout's server and removes its data, unless it runs where it cannot be stopped from here. One line for each thing
/// that is gone, and for each that is left.
pub(crate) async fn clean(workspace: &Workspace) -> anyhow::Result<[Vec<String>; 2]> {
    let [mut removed, mut left] = [Vec::new(), Vec::new()];
    'homes: for home in home::homes(workspace) {
        for cluster in clusters(&home) {
            if cluster.runs_elsewhere().await? {
                left.push(format!(
                    "the embedded PostgreSQL in {}, which a container that shares the folder runs, or its host: just clean there",
                    home.display()
                ));
                continue 'homes;
            }
            if let Some(pid) = cluster.end().await? {
                removed.push(format!("the embedded PostgreSQL server (process {pid})"));
            }
        }
        std::fs::remove_dir_all(&home)
            .with_context(|| format!("cannot remove {}", home.display()))?;
        removed.push(format!("its data in {}", home.display()));
    }
    Ok([removed, left])
}

/// The cluster to use: the latest one that fits the settings, else a new one.
async fn cluster(
    settings: &ProviderSettings,
    workspace: &Workspace,
    home: &Path,
) -> anyhow::Result<Cluster> {
    let from = settings.binaries.map(|from| from.to_string());
    let from = from.unwrap_or_default();
    let mut latest = clusters(home).into_iter();
    if let Some(cluster) = latest.find(|cluster| cluster.is_of(&from)) {
        return Ok(cluster);
    }
    let binaries = match (settings.binaries, Binaries::system()) {
        (Some(BinariesFrom::System) | None, Some(binaries)) => binaries,
        (Some(BinariesFrom::System), None) => {
            return Trouble::new("PostgreSQL's programs are not on this machine")
                .expected("postgres, initdb and pg_ctl of version 14 or later")
                .next("install PostgreSQL with your package manager, or unset WORKSHOP_POSTGRES_BINARIES").err();
        }
        (Some(BinariesFrom::Maven) | None, _) => {
            let (home, maven_options) = (home.to_path_buf(), workspace.maven_options());
            tokio::task::spawn_blocking(move || {
                let binaries = maven::bring(&home, &maven_options)?;
                account::own_all(binaries.bin.parent().unwrap_or(&binaries.bin))?;
                anyhow::Ok(binaries)
            })
            .await??
        }
    };
    let folder = home.join(format!("{}-{}", binaries.from, binaries.major));
    match Cluster::at(folder.clone()) {
        Some(cluster) => Ok(cluster.with(binaries)),
        None => Cluster::make(folder, binaries).await,
    }
}
