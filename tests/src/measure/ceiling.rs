//! The ceiling: the crate `tests/ceiling`, which does the same read with as little as possible around it.

use crate::harness::build::{self, BuildError, Crate, Launch, Profile};
use crate::workspace::Workspace;

/// Its package, and its id in the results.
pub const ID: &str = "ceiling";

/// Builds it.
///
/// # Errors
/// See [`BuildError`].
pub fn build(workspace: &Workspace, profile: Profile) -> Result<Launch, BuildError> {
    let krate = Crate {
        folder: workspace.root().join("tests/ceiling"),
        package: ID.to_owned(),
    };
    build::cargo(workspace, &krate, profile)
}
