//! A run's own database: a copy of a data set that may be altered, gone afterwards.

use anyhow::Context;
use futures_util::future::LocalBoxFuture;
use sqlx::PgConnection;

use crate::connection::{close, code};
use crate::databases::{self, Claim, drop_database, execute};
use crate::datasets::names::Names;
use crate::datasets::seed;
use crate::datasets::set::DataSet;
use crate::server::Server;
use workshop_base::workspace::Workspace;

/// A copy of a data set for one run.
///
/// Call [`RunDatabase::remove`] at the end. When the tool dies before, the kernel lets go of the claim on the name, and
/// the next command drops the database.
#[derive(Debug)]
pub struct RunDatabase {
    server: Server,
    name: String,
    url: String,
    _claim: Claim,
}

impl RunDatabase {
    /// Makes the copy, and seeds the data set first when it is not there. Also drops copies that killed runs left.
    pub fn create<'f>(
        server: &'f Server,
        workspace: &'f Workspace,
        set: DataSet,
    ) -> LocalBoxFuture<'f, anyhow::Result<Self>> {
        Box::pin(async move {
            let names = Names::of(server.checkout());
            let source = match set {
                DataSet::Small => names.template(set),
                DataSet::Pi | DataSet::Full => names.shared(set),
            };
            let run = RunDatabase::claim(server, &names)?;
            let mut connection = server.connect_for_maintenance().await?;
            databases::sweep(server, &mut connection, |name| names.is_passing(name)).await?;
            if let Err(error) = seed::copy(&mut connection, &source, &run.name).await {
                if !is_missing(&error) {
                    return Err(error);
                }
                seed::seed(server, workspace, set).await?;
                seed::copy(&mut connection, &source, &run.name).await?;
            }
            run.answer_before_the_disk_does(&mut connection).await?;
            close(connection).await;
            Ok(run)
        })
    }

    /// Makes a database without any table.
    pub async fn empty(server: &Server) -> anyhow::Result<Self> {
        let run = RunDatabase::durable(server).await?;
        let mut connection = server.connect_for_maintenance().await?;
        run.answer_before_the_disk_does(&mut connection).await?;
        close(connection).await;
        Ok(run)
    }

    /// The same for a measurement that writes: a commit is on the disk when it returns.
    pub fn durable<'f>(server: &'f Server) -> LocalBoxFuture<'f, anyhow::Result<Self>> {
        Box::pin(async move {
            let run = RunDatabase::claim(server, &Names::of(server.checkout()))?;
            let mut connection = server.connect_for_maintenance().await?;
            seed::copy(&mut connection, "template0", &run.name).await?;
            close(connection).await;
            Ok(run)
        })
    }

    /// Lets commits in this database return before they are on the disk: the tests look at what a service does, not at the disk
    /// below it, which may take milliseconds for each commit while somebody else writes. Everything is still there after a
    /// restart. A measurement has durable ones.
    async fn answer_before_the_disk_does(
        &self,
        connection: &mut PgConnection,
    ) -> anyhow::Result<()> {
        let statement = format!(
            "ALTER DATABASE \"{}\" SET synchronous_commit = off",
            self.name
        );
        execute(connection, statement).await?;
        Ok(())
    }

    /// Takes a name. There is no database of it yet.
    fn claim(server: &Server, names: &Names) -> anyhow::Result<Self> {
        let name = names.run();
        Ok(RunDatabase {
            _claim: Claim::take(server, &name)?,
            url: server.url(&name),
            server: server.clone(),
            name,
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
    pub async fn connect(&self) -> anyhow::Result<PgConnection> {
        self.server.connect(&self.name).await
    }

    /// Drops the database and ends the sessions in it. When the server does not answer, the next command tries again.
    pub async fn remove(self) -> anyhow::Result<()> {
        let mut connection = self.server.connect_for_maintenance().await?;
        drop_database(&mut connection, &self.name)
            .await
            .context("cannot remove the run's database")?;
        close(connection).await;
        Ok(())
    }
}

/// True when the source of a copy is not there.
fn is_missing(error: &anyhow::Error) -> bool {
    let mut causes = error.chain().filter_map(|cause| cause.downcast_ref());
    causes.any(|error| code(error).as_deref() == Some("3D000"))
}
