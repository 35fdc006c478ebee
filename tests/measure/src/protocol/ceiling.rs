//! The ceiling: the crate `tests/ceiling`, which does the same read with as little as possible around it.

use workshop_base::workspace::Workspace;
use workshop_harness::build::{self, BuildError, Crate, Launch, Profile};

/// Its package, and its id in the results.
pub const ID: &str = "ceiling";

/// Builds it.
pub async fn build(workspace: &Workspace, profile: Profile) -> Result<Launch, BuildError> {
    let krate = Crate {
        folder: workspace.root().join("tests/ceiling"),
        package: ID.to_owned(),
    };
    build::cargo(workspace, &krate, profile).await
}
