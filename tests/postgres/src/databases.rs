//! The databases of one checkout on its server: their names, who uses them, and the removal of those that are left over.
//!
//! Every name begins with `workshop_<checkout>_`; nothing else is ever dropped. A process that builds a data set or has a
//! database for a run holds a lock file of the database's name, which the kernel lets go of when the process ends. So a server may
//! stop and start again below a run, and a database whose lock can be taken is a leftover.

use std::path::PathBuf;

use anyhow::Context;
use sqlx::{AssertSqlSafe, PgConnection};
use tokio::sync::Semaphore;

use crate::datasets::set::{DataSet, MANY_RECORDS};
use crate::identity::{self, short_hash};
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

/// A held claim on the name of a database; let go when dropped, and by the kernel when the tool dies.
#[derive(Debug)]
pub(crate) struct Claim {
    name: String,
    path: PathBuf,
    _lock: Lock,
}

impl Claim {
    /// Claims a new name, before there is a database of it. The name says what it is for.
    pub(crate) fn new(server: &Server, purpose: &str) -> anyhow::Result<Claim> {
        let prefix = identity::database_prefix(server.checkout());
        let name = format!("{prefix}{purpose}_{:016x}", rand::random::<u64>());
        Claim::attempt(server, name.clone())?
            .with_context(|| format!("another command uses the database {name}"))
    }

    fn attempt(server: &Server, name: String) -> anyhow::Result<Option<Claim>> {
        let path = server.claim(&name);
        let lock = Lock::try_take(&path)?;
        Ok(lock.map(|lock| Claim {
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

impl Drop for Claim {
    fn drop(&mut self) {
        // Names are never given twice, so nothing waits for this file.
        let _ = files::remove(&self.path);
    }
}

/// Drops what nobody needs of a checkout's databases: those that killed commands left behind, and data sets in a form that this
/// version of the tool does not make.
pub(crate) async fn sweep(server: &Server, connection: &mut PgConnection) -> anyhow::Result<()> {
    let checkout = server.checkout();
    let mut kept = DataSet::ALL.map(|set| set.database(checkout)).to_vec();
    kept.extend(Template::BOTH.map(|template| template.database(checkout)));
    let mut names = present(connection, checkout).await?;
    names.retain(|name| !kept.contains(name));
    for name in names {
        // Locks that cannot be taken, or that this file system does not have, are taken for held.
        if let Ok(Some(claim)) = Claim::attempt(server, name) {
            drop_database(connection, claim.name()).await?;
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

/// What the database of a run is a copy of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Template {
    /// The rows of `small`.
    Small,
    /// These and [`MANY_RECORDS`].
    Large,
}

impl Template {
    pub(crate) const BOTH: [Template; 2] = [Template::Small, Template::Large];

    /// The name of a checkout's database with it.
    pub(crate) fn database(self, checkout: &str) -> String {
        let small = DataSet::Small.database(checkout);
        match self {
            Template::Small => format!("{small}_template"),
            Template::Large => format!("{small}_{}", short_hash(&[MANY_RECORDS])),
        }
    }
}

/// The template of a database without any table.
pub(crate) const EMPTY: &str = "template0";

/// How many databases a command makes at the same time: it is work for processor and disk. More of them would all be there late.
static MAKING: Semaphore = Semaphore::const_new(2);

/// Makes a database as a copy of a template. PostgreSQL connects nobody to one of ours, or to [`EMPTY`], so no reader of it is in
/// the way.
pub(crate) async fn create(
    connection: &mut PgConnection,
    name: &str,
    template: &str,
) -> anyhow::Result<()> {
    let _turn = MAKING.acquire().await?;
    let sql = format!("CREATE DATABASE \"{name}\" TEMPLATE \"{template}\" ENCODING 'UTF8'");
    let created = execute(connection, sql).await;
    created.with_context(|| format!("cannot make the database {name}"))
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
