//! A run's own database, which may be altered and is gone afterwards.

use anyhow::Context;
use futures_util::future::LocalBoxFuture;
use sqlx::PgConnection;

use crate::connection::{close, code};
use crate::databases::{self, Claim, EMPTY, Template, drop_database, execute};
use crate::datasets::build;
use crate::datasets::set::{DataSet, MANY_RECORDS};
use crate::server::Server;
use workshop_base::lock::Lock;

/// What PostgreSQL calls a database that isn't there.
const NO_SUCH_DATABASE: &str = "3D000";

/// When a commit returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Commits {
    /// Before it is on the disk: the tests look at what a service does, not at the disk below it, which may take milliseconds for
    /// each commit while somebody else writes. Everything is still there after a restart.
    BeforeTheDisk,
    /// When it is on the disk.
    OnTheDisk,
}

/// A database for one run.
///
/// Call [`RunDatabase::remove`] at the end. When the tool dies before, the kernel lets go of the claim on the name, and
/// the next command drops the database.
#[derive(Debug)]
pub struct RunDatabase {
    server: Server,
    url: String,
    claim: Claim,
}

impl RunDatabase {
    /// Makes a database with the rows of `small`.
    pub fn create(server: &Server) -> LocalBoxFuture<'_, anyhow::Result<Self>> {
        Box::pin(RunDatabase::from(server, Template::Small))
    }

    /// Makes one with [`MANY_RECORDS`] as well.
    pub fn large(server: &Server) -> LocalBoxFuture<'_, anyhow::Result<Self>> {
        Box::pin(RunDatabase::from(server, Template::Large))
    }

    /// Makes a copy of a template, which is made when it isn't there yet.
    async fn from(server: &Server, template: Template) -> anyhow::Result<Self> {
        let name = template.database(server.checkout());
        match RunDatabase::copy_of(server, &name, Commits::BeforeTheDisk).await {
            Err(error) if is_missing(&error) => {
                make(server, template, &name).await?;
                RunDatabase::copy_of(server, &name, Commits::BeforeTheDisk).await
            }
            made => made,
        }
    }

    /// Makes a database without any table.
    pub async fn empty(server: &Server) -> anyhow::Result<Self> {
        RunDatabase::copy_of(server, EMPTY, Commits::BeforeTheDisk).await
    }

    /// The same for a measurement that writes.
    pub fn durable(server: &Server) -> LocalBoxFuture<'_, anyhow::Result<Self>> {
        Box::pin(RunDatabase::copy_of(server, EMPTY, Commits::OnTheDisk))
    }

    /// Makes a copy of this template. Also drops the databases that killed runs left.
    async fn copy_of(server: &Server, template: &str, commits: Commits) -> anyhow::Result<Self> {
        let claim = Claim::new(server, "run")?;
        let mut connection = server.connect_for_maintenance().await?;
        databases::sweep(server, &mut connection).await?;
        databases::create(&mut connection, claim.name(), template).await?;
        if commits == Commits::BeforeTheDisk {
            let name = claim.name();
            let sql = format!("ALTER DATABASE \"{name}\" SET synchronous_commit = off");
            execute(&mut connection, sql).await?;
        }
        close(connection).await;
        Ok(RunDatabase {
            url: server.url(claim.name()),
            server: server.clone(),
            claim,
        })
    }

    /// Where a service connects to: `postgres://user:password@host:port/database`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The database's name.
    pub fn name(&self) -> &str {
        self.claim.name()
    }

    /// A connection for the tests themselves.
    pub async fn connect(&self) -> anyhow::Result<PgConnection> {
        self.server.connect(self.name()).await
    }

    /// Drops the database and ends the sessions in it. When the server does not answer, the next command tries again.
    pub async fn remove(self) -> anyhow::Result<()> {
        let mut connection = self.server.connect_for_maintenance().await?;
        drop_database(&mut connection, self.name())
            .await
            .context("cannot remove the run's database")?;
        close(connection).await;
        Ok(())
    }
}

/// Makes a template aside, and gives it its name. Commands that need it at the same time take turns.
async fn make(server: &Server, template: Template, name: &str) -> anyhow::Result<()> {
    let _turn = Lock::take(&server.claim(name), "makes the rows of a check").await?;
    let mut connection = server.connect_for_maintenance().await?;
    let there = sqlx::query("SELECT FROM pg_database WHERE datname = $1").bind(name);
    if there.fetch_optional(&mut connection).await?.is_some() {
        return Ok(());
    }
    let claim = Claim::new(server, "building_template")?;
    let aside = claim.name();
    databases::create(&mut connection, aside, EMPTY).await?;
    let filled = build::fill(server, aside, DataSet::Small).await;
    filled.map_err(|error| build::in_words(error, server, DataSet::Small))?;
    if template == Template::Large {
        let mut more = server.connect(aside).await?;
        sqlx::raw_sql(MANY_RECORDS).execute(&mut more).await?;
        close(more).await;
    }
    for change in ["ALLOW_CONNECTIONS false", &format!("RENAME TO \"{name}\"")] {
        let sql = format!("ALTER DATABASE \"{aside}\" {change}");
        let changed = execute(&mut connection, sql).await;
        changed.with_context(|| format!("cannot make the template {name}"))?;
    }
    close(connection).await;
    Ok(())
}

/// True when the template of a copy isn't there.
fn is_missing(error: &anyhow::Error) -> bool {
    let mut causes = error.chain().filter_map(|cause| cause.downcast_ref());
    causes.any(|error| code(error).as_deref() == Some(NO_SUCH_DATABASE))
}
