//! Building a target: cargo for Rust, Maven for Kotlin, its own tools for a peer; what comes out is a launch that can be started.

mod cargo;
pub mod copies;
pub mod cross;
pub mod glue;
pub mod image;
pub mod jdk;
pub mod launch;
pub mod maven;
pub mod nginx;
pub mod other_target;
mod part;
mod peer;
pub mod runtime;
pub mod sources;
pub mod wasm;

use futures_util::future::LocalBoxFuture;
use workshop_base::calls::Calls;
use workshop_base::exercise::Catalogue;
use workshop_base::outcome::Trouble;
use workshop_base::target::Target;
use workshop_base::workspace::Workspace;

pub use cargo::{cargo, cargo_command, tests};
pub use launch::*;

/// Builds a target, printing what the compiler prints.
pub fn build<'f>(
    workspace: &'f Workspace,
    target: Target,
    profile: Profile,
) -> LocalBoxFuture<'f, Result<Launch, BuildError>> {
    Box::pin(async move {
        match target {
            Target::Kotlin => Ok(maven::kotlin(workspace, profile).await?),
            Target::Peer(name) => Ok(peer::build(workspace, name, profile).await?),
            Target::Exercise(number) | Target::Solution(number) => {
                let catalogue = Catalogue::read(workspace)?;
                let exercise = catalogue.get(number)?;
                if !exercise.is_crate() {
                    let what = format!("{target} isn't a service, so there is nothing to build");
                    let trouble = Trouble::new(what).next(format!("just check {target}"));
                    return Err(BuildError::CouldNotBuild(trouble.into()));
                }
                let krate = Crate::of(workspace, exercise, target);
                launch(workspace, exercise.calls(), &krate, profile).await
            }
        }
    })
}

/// Builds the service that a crate is, or the Kotlin service that calls it.
pub fn launch<'f>(
    workspace: &'f Workspace,
    calls: Option<Calls>,
    krate: &'f Crate,
    profile: Profile,
) -> LocalBoxFuture<'f, Result<Launch, BuildError>> {
    Box::pin(async move {
        match calls {
            None => {
                if krate.folder.join(nginx::FOLDER).is_dir() {
                    // Found now, it does not cost a build first.
                    nginx::needed().await.map_err(anyhow::Error::new)?;
                }
                cargo(workspace, krate, profile).await
            }
            Some(calls) => glue::build(workspace, calls, krate, profile).await,
        }
    })
}
