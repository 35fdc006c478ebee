//! The databases of one checkout on its server: who uses them, and the removal of those that are left over.
//!
//! Every name begins with `workshop_<checkout>_`; nothing else is ever dropped. A process that builds a data set or runs on a
//! copy holds a lock file of the database's name, which the kernel lets go of when the process ends. So a server may stop and
//! start again below a run, and a database whose lock can be taken is a leftover.

use std::path::PathBuf;

use anyhow::Context;
use sqlx::{AssertSqlSafe, PgConnection};

use crate::server::Server;
use workshop_base::files;
use workshop_base::lock::Lock;

/// What the names of a checkout's databases begin with.
pub(crate) fn prefix(checkout: &str) -> String {
    format!("workshop_{checkout}_")
}

/// A checkout's databases on the server. Owned by this role, too: a name alone is no proof on a server that others use.
async fn present(connection: &mut PgConnection, checkout: &str) -> anyhow::Result<Vec<String>> {
    sqlx::query_scalar(
        "SELECT datname FROM pg_database
         WHERE starts_with(datname, $1) AND pg_get_userbyid(datdba) = current_user
         ORDER BY datname",
    )
    .bind(prefix(checkout))
    .fetch_all(connection)
    .await
    .context("cannot list the databases")
}

/// A held claim on the name of a database; let go when dropped, and by the kernel when the tool dies.
#[derive(Debug)]
pub(crate) struct Claim {
    path: PathBuf,
    _lock: Lock,
}

impl Claim {
    /// Claims a name, before there is a database of it.
    pub(crate) fn take(server: &Server, name: &str) -> anyhow::Result<Claim> {
        Claim::attempt(server, name)?
            .with_context(|| format!("another command uses the database {name}"))
    }

    fn attempt(server: &Server, name: &str) -> anyhow::Result<Option<Claim>> {
        let path = server.claim(name);
        let lock = Lock::try_take(&path)?;
        Ok(lock.map(|lock| Claim { path, _lock: lock }))
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        // Names are never given twice, so nothing waits for this file.
        let _ = files::remove(&self.path);
    }
}

/// Drops our databases that are not in use and that are left over, as `is_leftover` says of a name.
pub(crate) async fn sweep(
    server: &Server,
    connection: &mut PgConnection,
    is_leftover: impl Fn(&str) -> bool,
) -> anyhow::Result<()> {
    for name in present(connection, server.checkout()).await? {
        // Locks that cannot be taken, or that this file system does not have, are taken for held.
        if is_leftover(&name)
            && let Ok(Some(_claim)) = Claim::attempt(server, &name)
        {
            drop_database(connection, &name).await?;
        }
    }
    Ok(())
}

/// Drops every database of a checkout, in use or not; gives their names.
pub(crate) async fn drop_all(
    connection: &mut PgConnection,
    checkout: &str,
) -> anyhow::Result<Vec<String>> {
    let present = present(connection, checkout).await?;
    for name in &present {
        drop_database(connection, name).await?;
    }
    Ok(present)
}

/// Drops one database and ends the sessions in it; no error when it is gone already.
pub(crate) async fn drop_database(connection: &mut PgConnection, name: &str) -> anyhow::Result<()> {
    execute(
        connection,
        format!("DROP DATABASE IF EXISTS \"{name}\" WITH (FORCE)"),
    )
    .await
    .with_context(|| format!("cannot drop the database {name}"))
}

/// True when there is a database of this name.
pub(crate) async fn exists(connection: &mut PgConnection, name: &str) -> anyhow::Result<bool> {
    sqlx::query_scalar("SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)")
        .bind(name)
        .fetch_one(connection)
        .await
        .context("cannot list the databases")
}

/// Runs a statement whose names are ours: letters, digits and underscores.
pub(crate) async fn execute(connection: &mut PgConnection, sql: String) -> Result<(), sqlx::Error> {
    sqlx::raw_sql(AssertSqlSafe(sql))
        .execute(connection)
        .await
        .map(|_| ())
}
