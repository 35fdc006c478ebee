//! A run's own database: a copy of a data set that may be altered, gone afterwards.

use anyhow::Context;
use sqlx::PgConnection;

use crate::datasets::names::Names;

use crate::datasets::names::close;

use crate::datasets::names::drop_database;

use crate::datasets::names::execute;

use crate::Server;
use crate::datasets::DataSet;
use crate::datasets::names::try_claim;
use crate::datasets::seed;
use workshop_base::outcome::Trouble;
use workshop_base::workspace::Workspace;

/// A copy of a data set for one run.
///
/// Call [`RunDatabase::remove`] at the end. When the tool dies before, PostgreSQL lets go of the claim on the name, and
/// the next command drops the database.
#[derive(Debug)]
pub struct RunDatabase {
    server: Server,
    name: String,
    url: String,
    /// Holds the claim on the name.
    claim: PgConnection,
}

impl RunDatabase {
    /// Makes the copy, and seeds the data set first when it is not there. Also drops copies that killed runs left.
    ///
    /// # Errors
    /// When the server refuses or goes away.
    pub async fn create(
        server: &Server,
        workspace: &Workspace,
        set: DataSet,
    ) -> anyhow::Result<Self> {
        let names = Names::of(server.checkout());
        let source = match set {
            DataSet::Small => names.template(set),
            DataSet::Pi | DataSet::Full => names.shared(set),
        };
        let mut run = RunDatabase::claim(server, &names).await?;
        names.sweep(&mut run.claim, None).await?;
        if let Err(error) = seed::copy(&mut run.claim, &source, &run.name).await {
            if !is_missing(&error) {
                return Err(error);
            }
            seed::seed(server, workspace, set).await?;
            seed::copy(&mut run.claim, &source, &run.name).await?;
        }
        run.answer_before_the_disk_does().await?;
        Ok(run)
    }

    /// Makes a database without any table.
    ///
    /// # Errors
    /// When the server refuses or goes away.
    pub async fn empty(server: &Server) -> anyhow::Result<Self> {
        let mut run = RunDatabase::claim(server, &Names::of(server.checkout())).await?;
        seed::copy(&mut run.claim, "template0", &run.name).await?;
        run.answer_before_the_disk_does().await?;
        Ok(run)
    }

    /// Lets commits in this database return before they are on the disk: the tests look at what a service does, not at the disk
    /// below it, which may take milliseconds for each commit while somebody else writes. Everything is still there after a
    /// restart. Measurements have databases of their own, which are durable.
    async fn answer_before_the_disk_does(&mut self) -> anyhow::Result<()> {
        let statement = format!(
            "ALTER DATABASE \"{}\" SET synchronous_commit = off",
            self.name
        );
        execute(&mut self.claim, statement).await?;
        Ok(())
    }

    /// Takes a name. There is no database of it yet.
    async fn claim(server: &Server, names: &Names) -> anyhow::Result<Self> {
        let name = names.run();
        let mut claim = server.connect_for_maintenance().await?;
        if !try_claim(&mut claim, &name).await? {
            return Err(Trouble::new(format!("another run has the database {name}"))
                .next("try again")
                .into());
        }
        let url = server.url(&name);
        Ok(RunDatabase {
            server: server.clone(),
            name,
            url,
            claim,
        })
    }

    /// Where a service connects to: `postgres://user:password@host:port/database`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The database's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A connection for the tests themselves.
    ///
    /// # Errors
    /// When the server does not answer.
    pub async fn connect(&self) -> anyhow::Result<PgConnection> {
        self.server.connect(&self.name).await
    }

    /// Drops the database and ends the sessions in it.
    ///
    /// # Errors
    /// When the server does not answer; the next command tries again.
    pub async fn remove(mut self) -> anyhow::Result<()> {
        let result = drop_database(&mut self.claim, &self.name).await;
        close(self.claim).await;
        result.context("cannot remove the run's database")
    }
}

/// True when the source of a copy is not there.
fn is_missing(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<sqlx::Error>())
        .any(|error| {
            error
                .as_database_error()
                .and_then(|error| error.code())
                .as_deref()
                == Some("3D000")
        })
}
