//! The provider `embedded`: a PostgreSQL server of our own, started from programs on this machine, without Docker.

use std::path::Path;

use anyhow::Context;
use nix::sys::signal::Signal;

use crate::account::Account;
use crate::binaries::Binaries;
use crate::cluster::{Cluster, Kept, clusters, end};
use crate::server::{Files, Server};
use crate::settings::{BinariesFrom, Provider, Settings};
use crate::{home, maven};
use workshop_base::outcome::Trouble;
use workshop_base::workspace::Workspace;

/// This checkout's own server.
pub(crate) async fn ensure(settings: &Settings, workspace: &Workspace) -> anyhow::Result<Server> {
    let account = Account::pick();
    let home = home::home(settings, workspace, &account)?;
    let (cluster, mut kept) = cluster(settings, workspace, &home, &account).await?;
    let answer = cluster.start(&mut kept).await?;
    let files = Files::Folder(cluster.data());
    Ok(Server::found(
        Provider::Embedded,
        workspace,
        kept.address()?,
        answer,
        files,
    )
    .await)
}

/// Stops this checkout's server and removes its data; one line for each thing that is gone.
pub(crate) async fn clean(workspace: &Workspace) -> anyhow::Result<Vec<String>> {
    let mut removed = Vec::new();
    for home in home::homes(workspace) {
        for cluster in clusters(&home, &Account::pick()) {
            if let Some(pid) = cluster.running() {
                // Its data goes as well, so none is written.
                end(pid, Signal::SIGQUIT).await?;
                removed.push(format!("the embedded PostgreSQL server (process {pid})"));
            }
        }
        std::fs::remove_dir_all(&home)
            .with_context(|| format!("cannot remove {}", home.display()))?;
        removed.push(format!("its data in {}", home.display()));
    }
    Ok(removed)
}

/// The cluster to use, and what is kept of it: the latest one that fits the settings, else a new one.
async fn cluster(
    settings: &Settings,
    workspace: &Workspace,
    home: &Path,
    account: &Account,
) -> anyhow::Result<(Cluster, Kept)> {
    let wanted = settings.binaries.map(|from| from.to_string());
    let latest = clusters(home, account)
        .into_iter()
        .filter(|cluster| wanted.as_ref().is_none_or(|prefix| cluster.is_of(prefix)))
        .filter_map(|cluster| cluster.kept().map(|kept| (cluster, kept)))
        .find(|(_, kept)| kept.bin.join("postgres").is_file());
    if let Some(found) = latest {
        return Ok(found);
    }
    let binaries = match (settings.binaries, Binaries::system()) {
        (Some(BinariesFrom::System) | None, Some(binaries)) => binaries,
        (Some(BinariesFrom::System), None) => {
            return Trouble::new("PostgreSQL's programs are not on this machine")
                .expected("postgres, initdb and pg_ctl of version 14 or later")
                .next("install PostgreSQL with your package manager, or unset WORKSHOP_POSTGRES_BINARIES").err();
        }
        (Some(BinariesFrom::Maven) | None, _) => {
            let (home, account) = (home.to_path_buf(), account.clone());
            let maven_options = workspace.maven_options();
            tokio::task::spawn_blocking(move || {
                let binaries = maven::bring(&home, &maven_options)?;
                account.own_all(binaries.bin.parent().unwrap_or(&binaries.bin))?;
                anyhow::Ok(binaries)
            })
            .await??
        }
    };
    let folder = home.join(format!("{}-{}", binaries.from, binaries.major));
    let cluster = Cluster {
        folder,
        account: account.clone(),
    };
    let mut kept = match cluster.kept() {
        Some(kept) => kept,
        None => cluster.make(&binaries).await?,
    };
    // The programs may have moved, the data is theirs all the same.
    kept.bin = binaries.bin;
    cluster.keep(&kept)?;
    Ok((cluster, kept))
}
