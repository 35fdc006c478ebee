//! A run's own database, which may be altered and is gone afterwards.

use anyhow::Context;
use futures_util::future::LocalBoxFuture;
use sqlx::PgConnection;

use crate::connection::close;
use crate::databases::{self, Claim, drop_database, execute};
use crate::datasets::build;
use crate::datasets::set::DataSet;
use crate::server::Server;

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
    pub fn create<'f>(server: &'f Server) -> LocalBoxFuture<'f, anyhow::Result<Self>> {
        Box::pin(async move {
            let run = RunDatabase::empty(server).await?;
            build::fill(server, run.name(), DataSet::Small).await?;
            Ok(run)
        })
    }

    /// Makes a database without any table, whose commits may return before they are on the disk: the tests look at what a service
    /// does, not at the disk below it, which may take milliseconds for each commit while somebody else writes. Everything is still
    /// there after a restart.
    pub async fn empty(server: &Server) -> anyhow::Result<Self> {
        let run = RunDatabase::durable(server).await?;
        let mut connection = server.connect_for_maintenance().await?;
        let name = run.name();
        let sql = format!("ALTER DATABASE \"{name}\" SET synchronous_commit = off");
        execute(&mut connection, sql).await?;
        close(connection).await;
        Ok(run)
    }

    /// The same for a measurement that writes: a commit is on the disk when it returns. Also drops the databases that killed runs
    /// left.
    pub fn durable<'f>(server: &'f Server) -> LocalBoxFuture<'f, anyhow::Result<Self>> {
        Box::pin(async move {
            let claim = Claim::new(server, "run")?;
            let mut connection = server.connect_for_maintenance().await?;
            databases::sweep(server, &mut connection).await?;
            databases::create(&mut connection, claim.name()).await?;
            close(connection).await;
            Ok(RunDatabase {
                url: server.url(claim.name()),
                server: server.clone(),
                claim,
            })
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
