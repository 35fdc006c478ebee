//! The part of a service in another language that is a crate: a program, a module or a library.

use std::path::PathBuf;

use workshop_base::calls::Calls;
use workshop_base::program::cargo_command;
use workshop_base::workspace::Workspace;

use super::launch::{BuildError, Crate, Profile};
use super::{cargo, wasm};

/// Builds what a service calls.
pub async fn build(
    workspace: &Workspace,
    calls: Calls,
    krate: &Crate,
    profile: Profile,
) -> Result<PathBuf, BuildError> {
    match calls {
        Calls::Program => Ok(cargo::cargo(workspace, krate, profile).await?.artifact),
        Calls::Library => {
            let cargo = cargo_command();
            cargo::made_by(cargo, workspace, krate, profile, &["--lib"]).await
        }
        Calls::Module => wasm::build(workspace, krate).await,
    }
}
