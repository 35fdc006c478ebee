//! The databases of one checkout on its server: their names, who uses them, and what becomes of those that are left over.
//!
//! Every name begins with `workshop_<checkout>_`; nothing else is ever dropped. A process that builds a data set or has a
//! database for a run holds a lock file of the database's name, which the kernel lets go of when the process ends. So a server may
//! stop and start again below a run, and a database whose lock can be taken is nobody's.

use std::path::PathBuf;

use anyhow::Context;
use sqlx::{AssertSqlSafe, PgConnection};

use crate::datasets::set::DataSet;
use crate::identity;
use crate::server::Server;
use workshop_base::files;
use workshop_base::lock::Lock;

/// A checkout's databases on the server. Owned by this role, too: a name alone is no proof on a server that others use.
async fn present(connection: &mut PgConnection, checkout: &str) -> anyhow::Result<Vec<String>> {
    sqlx::query_scalar(
        "SELECT datname FROM pg_database
         WHERE starts_with(datname, $1) AND pg_get_userbyid(datdba) = current_user
         ORDER BY datname",
    )
    .bind(identity::database_prefix(checkout))
    .fetch_all(connection)
    .await
    .context("cannot list the databases")
}

/// What the databases of runs are for, in their names.
pub(crate) const RUN: &str = "run";

/// What the names of half-made data sets begin with, after the checkout.
pub(crate) const BUILDING: &str = "building";

fn prefix(server: &Server, purpose: &str) -> String {
    format!("{}{purpose}_", identity::database_prefix(server.checkout()))
}

/// A held claim on the name of a database; let go when dropped, and by the kernel when the tool dies.
#[derive(Debug)]
pub(crate) struct NameClaim {
    name: String,
    path: PathBuf,
    _lock: Lock,
}

impl NameClaim {
    /// Claims a new name, before there is a database of it. The name says what it is for.
    pub(crate) fn new(server: &Server, purpose: &str) -> anyhow::Result<NameClaim> {
        let name = format!("{}{:016x}", prefix(server, purpose), rand::random::<u64>());
        NameClaim::attempt(server, name.clone())?
            .with_context(|| format!("another command uses the database {name}"))
    }

    fn attempt(server: &Server, name: String) -> anyhow::Result<Option<NameClaim>> {
        let path = server.claim(&name);
        let lock = Lock::try_take(&path)?;
        Ok(lock.map(|lock| NameClaim {
            name,
            path,
            _lock: lock,
        }))
    }

    /// The name of the database.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for NameClaim {
    fn drop(&mut self) {
        // Names are never given twice, so nothing waits for this file.
        let _ = files::remove(&self.path);
    }
}

/// Drops what killed commands have left half-made of a checkout's databases. Those of runs that have ended stay: the next run takes
/// them over. So do data sets of another version of the course: it takes minutes to make them, and somebody may go back to it.
pub(crate) async fn sweep(server: &Server, connection: &mut PgConnection) -> anyhow::Result<()> {
    let half_made = prefix(server, BUILDING);
    let mut names = present(connection, server.checkout()).await?;
    names.retain(|name| name.starts_with(&half_made));
    for name in names {
        // Locks that cannot be taken, or that this file system does not have, are taken for held.
        if let Ok(Some(claim)) = NameClaim::attempt(server, name) {
            drop_database(connection, claim.name()).await?;
        }
    }
    Ok(())
}

/// The data sets of a checkout that another version of the course has made.
pub(crate) async fn of_other_versions(
    server: &Server,
    connection: &mut PgConnection,
) -> anyhow::Result<Vec<String>> {
    let checkout = server.checkout();
    let sets = DataSet::ALL.map(|set| set.database(checkout));
    let others = [RUN, BUILDING].map(|purpose| prefix(server, purpose));
    let mut names = present(connection, checkout).await?;
    names.retain(|name| {
        !sets.contains(name) && !others.iter().any(|prefix| name.starts_with(prefix))
    });
    Ok(names)
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

/// Makes a database without any table.
pub(crate) async fn create(connection: &mut PgConnection, name: &str) -> anyhow::Result<()> {
    let sql = format!("CREATE DATABASE \"{name}\" TEMPLATE template0 ENCODING 'UTF8'");
    let created = execute(connection, sql).await;
    created.with_context(|| format!("cannot make the database {name}"))
}

/// Gives this name to a database of a run that has ended; false when there is none. Its sessions end. Whoever still knows the old
/// name, such as a service that a killed run has left behind, finds nothing there.
pub(crate) async fn take_over(
    server: &Server,
    connection: &mut PgConnection,
    name: &str,
) -> anyhow::Result<bool> {
    for left in present(connection, server.checkout()).await? {
        if !left.starts_with(&prefix(server, RUN)) {
            continue;
        }
        let Ok(Some(claim)) = NameClaim::attempt(server, left) else {
            continue;
        };
        let left = claim.name();
        let sql = format!(
            "SET LOCAL synchronous_commit = off; \
             SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = '{left}'; \
             ALTER DATABASE \"{left}\" RENAME TO \"{name}\""
        );
        if execute(connection, sql).await.is_ok() {
            return Ok(true);
        }
        // Another command was faster, or somebody is in it again.
        drop_database(connection, left).await?;
    }
    Ok(false)
}

/// Drops one database and ends the sessions in it; no error when it is gone already.
pub(crate) async fn drop_database(connection: &mut PgConnection, name: &str) -> anyhow::Result<()> {
    let sql = format!("DROP DATABASE IF EXISTS \"{name}\" WITH (FORCE)");
    let dropped = execute(connection, sql).await;
    dropped.with_context(|| format!("cannot drop the database {name}"))
}

/// Runs a statement whose names are ours: letters, digits and underscores.
pub(crate) async fn execute(connection: &mut PgConnection, sql: String) -> Result<(), sqlx::Error> {
    sqlx::raw_sql(AssertSqlSafe(sql))
        .execute(connection)
        .await
        .map(|_| ())
}
