//! Queries that the compiler checks: sqlx's macros ask a database while a crate is compiled, and keep what it has said about each query.

use std::path::Path;

use workshop_base::program::cargo_command;
use workshop_base::workspace::Workspace;

use super::launch::{BuildError, Crate, Profile};
use super::{cargo, freshness};

/// Compiles a crate beside a database. `kept` is a folder that is there, and gets one file per query.
pub async fn prepare(
    workspace: &Workspace,
    krate: &Crate,
    database_url: &str,
    kept: &Path,
) -> Result<(), BuildError> {
    let mut command = cargo_command();
    command
        .env("DATABASE_URL", database_url)
        .env("SQLX_OFFLINE", "false")
        .env("SQLX_OFFLINE_DIR", kept);
    // Cargo does not know that the schema is another one now.
    freshness::touch(&krate.folder)?;
    let program = ["--bin", &krate.package];
    cargo::made_by(command, workspace, krate, Profile::Check, &program).await?;
    Ok(())
}
