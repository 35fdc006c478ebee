//! Building a target: cargo for Rust, Maven for Kotlin, its own tools for a peer; what comes out is a launch that can be started.

pub mod aside;
mod cargo;
pub mod copies;
mod diagnostics;
mod freshness;
pub mod glue;
pub mod jdk;
mod kept;
pub mod launch;
pub mod maven;
mod member;
pub mod nginx;
pub mod other_target;
mod own;
mod part;
mod peer;
pub mod queries;
pub mod reading;
pub mod runtime;
pub mod sources;
pub mod wasm;

use futures_util::future::LocalBoxFuture;
use workshop_base::calls::Calls;
use workshop_base::exercise::{Catalogue, Exercise};
use workshop_base::outcome::Trouble;
use workshop_base::target::Target;
use workshop_base::workspace::Workspace;

pub use cargo::{cargo, service, tests};
pub use diagnostics::errors_of_rustc;
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
                let krate = match (exercise.is_own(), target) {
                    (true, Target::Exercise(_)) => own::find(workspace, exercise).await?,
                    _ => Crate::of(workspace, exercise, target),
                };
                launch(workspace, exercise.calls(), &krate, profile).await
            }
        }
    })
}

/// Builds the programs of these exercises' references, and of their starters, in one cargo call: what they have in common is compiled
/// once, and everything side by side. That one does not compile is found out by whoever judges it.
pub async fn members(
    workspace: &Workspace,
    exercises: &[&Exercise],
    starters: bool,
) -> anyhow::Result<()> {
    let mut members = Vec::new();
    for exercise in exercises {
        let builds_a_program = matches!(exercise.calls(), None | Some(Calls::Program));
        if exercise.is_crate() && builds_a_program {
            let of = |target| Crate::of(workspace, exercise, target);
            members.push(of(Target::Solution(exercise.number)));
            let starter = Target::Exercise(exercise.number);
            members.extend((starters && !exercise.is_own()).then(|| of(starter)));
        }
    }
    cargo::members(workspace, &members).await
}

/// What this machine lacks to build what the Kotlin service calls, if it lacks anything.
pub fn lacks(calls: Calls) -> Option<Trouble> {
    match calls {
        Calls::Program => None,
        Calls::Module => wasm::compiler().err(),
        Calls::Library => jdk::find(jdk::CALLS_NATIVE, "calling a native library").err(),
    }
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
