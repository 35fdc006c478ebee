//! A run's own database, which may be altered and is nobody's afterwards.
//!
//! Making one and dropping it again costs PostgreSQL hundreds of files and a checkpoint, so a run takes over the database of one
//! that has ended, empties it and fills it anew.

use std::path::Path;

use anyhow::Context;
use futures_util::future::LocalBoxFuture;
use sqlx::PgConnection;
use sqlx::migrate::Migrator;
use tokio::sync::Semaphore;

use crate::connection::close;
use crate::databases::{self, NameClaim, RUN, drop_database, execute};
use crate::datasets::build;
use crate::datasets::set::{DataSet, MANY_RECORDS};
use crate::server::Server;

/// Takes away everything that somebody has made in the schemas of a database. Fails where there is something outside of them, such
/// as an extension (what a database has from its birth has a lower number), and where the schema `public` is a superuser's, which it
/// is in PostgreSQL 14.
const EMPTY: &str = "\
    SET client_min_messages = warning; \
    DO $$ \
    DECLARE schema name; \
    BEGIN \
        IF EXISTS (SELECT oid FROM pg_extension WHERE oid >= 16384 UNION ALL SELECT oid FROM pg_largeobject_metadata \
            UNION ALL SELECT oid FROM pg_publication UNION ALL SELECT oid FROM pg_event_trigger \
            UNION ALL SELECT oid FROM pg_foreign_data_wrapper UNION ALL SELECT oid FROM pg_language WHERE oid >= 16384 \
            UNION ALL SELECT oid FROM pg_cast WHERE oid >= 16384) THEN \
            RAISE 'there is something outside of the schemas'; \
        END IF; \
        FOR schema IN SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema' LOOP \
            EXECUTE format('DROP SCHEMA %I CASCADE', schema); \
        END LOOP; \
    END $$; \
    CREATE SCHEMA public";

/// How many databases a command fills at the same time: it is work for the processor. More of them would all be there late.
static FILLING: Semaphore = Semaphore::const_new(2);

/// What a run finds in its database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SeededRows {
    None,
    /// The rows of `small`.
    Small,
    Many,
}

/// A database for one run.
///
/// Once it is dropped, or the tool has died, another run may take it over.
#[derive(Debug)]
pub struct RunDatabase {
    server: Server,
    url: String,
    claim: NameClaim,
}

impl RunDatabase {
    /// One with the rows of `small`.
    pub fn create(server: &Server) -> LocalBoxFuture<'_, anyhow::Result<Self>> {
        Box::pin(RunDatabase::with(server, SeededRows::Small))
    }

    /// One with [`MANY_RECORDS`] as well.
    pub fn large(server: &Server) -> LocalBoxFuture<'_, anyhow::Result<Self>> {
        Box::pin(RunDatabase::with(server, SeededRows::Many))
    }

    /// One without any table.
    pub fn empty(server: &Server) -> LocalBoxFuture<'_, anyhow::Result<Self>> {
        Box::pin(RunDatabase::with(server, SeededRows::None))
    }

    /// Takes over a database or makes one. Its commits return before they are on the disk: the tests look at what a service does,
    /// not at the disk below it, which may take milliseconds for each commit while somebody else writes. Everything is still there
    /// after a restart.
    async fn with(server: &Server, rows: SeededRows) -> anyhow::Result<Self> {
        let _turn = FILLING.acquire().await?;
        let claim = NameClaim::new(server, RUN)?;
        let name = claim.name();
        let mut maintenance = server.connect_for_maintenance().await?;
        databases::sweep(server, &mut maintenance).await?;
        let mut emptied = None;
        if databases::take_over(server, &mut maintenance, name).await? {
            emptied = empty(server, name).await.ok();
        }
        let mut connection = match emptied {
            Some(connection) => connection,
            None => {
                drop_database(&mut maintenance, name).await?;
                databases::create(&mut maintenance, name).await?;
                server.connect(name).await?
            }
        };
        // Two statements of one message are one transaction.
        let sql = format!(
            "ALTER DATABASE \"{name}\" RESET ALL; ALTER DATABASE \"{name}\" SET synchronous_commit = off"
        );
        execute(&mut maintenance, sql).await?;
        close(maintenance).await;
        let filled = fill(&mut connection, rows).await;
        filled.map_err(|error| build::in_words(error.into(), server, DataSet::Small))?;
        close(connection).await;
        Ok(RunDatabase::of(server, claim))
    }

    /// A new one without any table, for a measurement that writes: a commit returns when it is on the disk.
    pub async fn durable(server: &Server) -> anyhow::Result<Self> {
        let claim = NameClaim::new(server, RUN)?;
        let mut connection = server.connect_for_maintenance().await?;
        databases::create(&mut connection, claim.name()).await?;
        close(connection).await;
        Ok(RunDatabase::of(server, claim))
    }

    fn of(server: &Server, claim: NameClaim) -> Self {
        RunDatabase {
            url: server.url(claim.name()),
            server: server.clone(),
            claim,
        }
    }

    /// Where a service connects to: `postgres://user:password@host:port/database`.
    pub fn url(&self) -> &str {
        &self.url
    }

    pub fn name(&self) -> &str {
        self.claim.name()
    }

    /// A connection for the tests themselves.
    pub async fn connect(&self) -> anyhow::Result<PgConnection> {
        self.server.connect(self.name()).await
    }

    /// Runs the migrations in a folder, as sqlx does.
    pub async fn migrate(&self, folder: &Path) -> anyhow::Result<()> {
        let mut connection = self.connect().await?;
        let migrator = Migrator::new(folder).await?;
        migrator.run(&mut connection).await?;
        close(connection).await;
        Ok(())
    }

    /// Drops the database and ends the sessions in it. When the server does not answer, the next run takes it over.
    pub async fn remove(self) -> anyhow::Result<()> {
        let mut connection = self.server.connect_for_maintenance().await?;
        drop_database(&mut connection, self.name())
            .await
            .context("cannot remove the run's database")?;
        close(connection).await;
        Ok(())
    }
}

/// Empties a database, and gives the connection to it.
async fn empty(server: &Server, name: &str) -> anyhow::Result<PgConnection> {
    let mut connection = server.connect(name).await?;
    sqlx::raw_sql(EMPTY).execute(&mut connection).await?;
    Ok(connection)
}

async fn fill(connection: &mut PgConnection, rows: SeededRows) -> sqlx::Result<()> {
    if rows == SeededRows::None {
        return Ok(());
    }
    build::insert(connection, DataSet::Small).await?;
    if rows == SeededRows::Many {
        sqlx::raw_sql(MANY_RECORDS).execute(connection).await?;
    }
    Ok(())
}
