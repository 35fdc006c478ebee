//! Seeding: a data set is there, whole and unaltered, or it is made. Made aside, verified, then renamed; so an
//! interrupted one never counts as there.

use std::time::{Duration, Instant};

use anyhow::Context;
use futures_util::future::LocalBoxFuture;
use sqlx::PgConnection;

use crate::connection::{close, code};
use crate::databases;
use crate::databases::{Claim, drop_database, execute, exists};
use crate::datasets::names::Names;
use crate::datasets::set::DataSet;
use crate::datasets::{build, records, room};
use crate::server::Server;
use workshop_base::lock::Lock;
use workshop_base::outcome::Trouble;
use workshop_base::wait;
use workshop_base::workspace::Workspace;

/// A data set that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seeded {
    /// Which.
    pub set: DataSet,
    /// How many rows it has.
    pub rows: u32,
    /// What its rows were verified by; see `datasets/records/fingerprint.sql`.
    pub fingerprint: String,
    /// True when it was made just now.
    pub fresh: bool,
    /// How long that took, or how long it took to see that it is there.
    pub took: Duration,
}

/// Sees to it that a data set is there; draws its progress when it has to be made. Rows that are not those of the data set are an
/// error. Nothing half-made is left that would count, also when the future is dropped.
pub async fn seed(server: &Server, workspace: &Workspace, set: DataSet) -> anyhow::Result<Seeded> {
    find_or_make(server, workspace, set, false).await
}

/// As [`seed`], but drops a data set that is there and makes it again.
pub async fn seed_again(
    server: &Server,
    workspace: &Workspace,
    set: DataSet,
) -> anyhow::Result<Seeded> {
    find_or_make(server, workspace, set, true).await
}

/// The URL of a seeded database, for reading; it is read-only unless a session asks otherwise.
pub fn shared_url(server: &Server, set: DataSet) -> String {
    server.url(&Names::of(server.checkout()).shared(set))
}

/// Removes the record of migrations that services of an earlier session have left in a seeded database: a service with
/// other migrations, an older state of the course or a learner's, would refuse it forever.
pub async fn forget_migrations(server: &Server, set: DataSet) -> anyhow::Result<()> {
    let name = Names::of(server.checkout()).shared(set);
    let mut connection = server.connect(&name).await?;
    // Two messages: the statements of one message share a transaction, and that began as read-only.
    let writable = "SET default_transaction_read_only = off; SET client_min_messages = warning";
    let removal = "DROP TABLE IF EXISTS _sqlx_migrations";
    for statement in [writable, removal] {
        execute(&mut connection, statement.to_owned())
            .await
            .with_context(|| format!("cannot remove the recorded migrations of {name}"))?;
    }
    Ok(())
}

fn find_or_make<'f>(
    server: &'f Server,
    workspace: &'f Workspace,
    set: DataSet,
    again: bool,
) -> LocalBoxFuture<'f, anyhow::Result<Seeded>> {
    Box::pin(async move {
        let start = Instant::now();
        let turn = workspace.state().join(format!("seed-{set}.lock"));
        let _turn = Lock::take(&turn, &format!("seeds {set}")).await?;
        let mut seeding = Seeding {
            server,
            maintenance: server.connect_for_maintenance().await?,
            names: Names::of(server.checkout()),
            set,
        };
        let fresh = seeding.find_or_make(again).await?;
        close(seeding.maintenance).await;
        Ok(Seeded {
            set,
            rows: set.rows(),
            fingerprint: records::fingerprint(set).to_owned(),
            fresh,
            took: start.elapsed(),
        })
    })
}

/// What making one data set takes.
struct Seeding<'a> {
    server: &'a Server,
    maintenance: PgConnection,
    names: Names,
    set: DataSet,
}

impl Seeding<'_> {
    /// Gives whether the data set was made just now.
    async fn find_or_make(&mut self, again: bool) -> anyhow::Result<bool> {
        let (server, names, set) = (self.server, self.names.clone(), self.set);
        if again {
            for name in [names.shared(set), names.template(set)] {
                drop_database(&mut self.maintenance, &name).await?;
            }
        }
        let is_leftover = |name: &str| names.is_passing(name) || names.is_outdated(name, set);
        databases::sweep(server, &mut self.maintenance, is_leftover).await?;
        let fresh = !self.is_there().await?;
        if fresh {
            room::check(server, set).await?;
            self.make().await?;
        }
        // Copies are made from a database that is only copied, so that they never wait for a reader. Only of the small one:
        // a second `full` would cost another gigabyte.
        if set == DataSet::Small {
            self.make_template().await?;
        }
        Ok(fresh)
    }

    /// True when the data set is there; an error when something else has its name.
    async fn is_there(&mut self) -> anyhow::Result<bool> {
        let (set, shared) = (self.set, self.names.shared(self.set));
        if !exists(&mut self.maintenance, &shared).await? {
            return Ok(false);
        }
        let mut connection = self.server.connect(&shared).await?;
        // All rows where that is quick, else a quick look.
        let wrong = match set {
            DataSet::Small => records::read_fingerprint(&mut connection)
                .await
                .map(|found| {
                    let differs = found != records::fingerprint(set);
                    differs.then(|| format!("its fingerprint is {found}"))
                }),
            DataSet::Pi | DataSet::Full => records::look(&mut connection, set).await,
        };
        close(connection).await;
        let wrong = match wrong {
            Err(error) if code(&error).as_deref() == Some(NO_SUCH_TABLE) => {
                Some("it has no table records".to_owned())
            }
            other => other.with_context(|| format!("cannot look at the data set {set}"))?,
        };
        match wrong {
            None => Ok(true),
            Some(why) => Trouble::new(format!(
                "the data set {set} has changed since it was made: {why}"
            ))
            .expected(format!("the fingerprint {}", records::fingerprint(set)))
            .next(format!("just seed {set} --again makes it again"))
            .err(),
        }
    }

    /// Makes the data set aside and gives it its name.
    async fn make(&mut self) -> anyhow::Result<()> {
        let (set, building) = (self.set, self.names.building(self.set));
        let _claim = Claim::take(self.server, &building)?;
        let pid = sqlx::query_scalar("SELECT pg_backend_pid()")
            .fetch_one(&mut self.maintenance)
            .await?;
        let mut underway = Underway {
            server: self.server,
            pid,
            building: &building,
            set,
            done: false,
        };
        build::build(self.server, &mut self.maintenance, &building, set).await?;
        // One transaction: with the name come the protection against a slip of the hand and the note of what it is.
        let shared = self.names.shared(set);
        let fingerprint = records::fingerprint(set);
        let naming = format!(
            "BEGIN; \
             ALTER DATABASE \"{building}\" SET default_transaction_read_only = on; \
             COMMENT ON DATABASE \"{building}\" IS 'Kotlin to Rust workshop, data set {set}, fingerprint {fingerprint}'; \
             ALTER DATABASE \"{building}\" RENAME TO \"{shared}\"; \
             COMMIT"
        );
        execute(&mut self.maintenance, naming)
            .await
            .with_context(|| format!("cannot give the data set {set} its name"))?;
        underway.done = true;
        Ok(())
    }

    /// Makes the template that runs copy, unless it is there.
    async fn make_template(&mut self) -> anyhow::Result<()> {
        let (shared, template) = (self.names.shared(self.set), self.names.template(self.set));
        if exists(&mut self.maintenance, &template).await? {
            return Ok(());
        }
        let aside = self.names.building(self.set);
        let _claim = Claim::take(self.server, &aside)?;
        copy(&mut self.maintenance, &shared, &aside).await?;
        for change in [
            "ALLOW_CONNECTIONS false".to_owned(),
            format!("RENAME TO \"{template}\""),
        ] {
            execute(
                &mut self.maintenance,
                format!("ALTER DATABASE \"{aside}\" {change}"),
            )
            .await
            .with_context(|| format!("cannot make the template {template}"))?;
        }
        Ok(())
    }
}

/// A build. Dropped before it is done, after an error or when somebody interrupts the command, it removes what there is.
struct Underway<'a> {
    server: &'a Server,
    /// The server's process that makes the database.
    pid: i32,
    building: &'a str,
    set: DataSet,
    done: bool,
}

impl Drop for Underway<'_> {
    fn drop(&mut self) {
        if self.done {
            return;
        }
        // On a thread of its own: a runtime's threads cannot wait in a destructor.
        let undone = std::thread::scope(|scope| {
            let undo = scope.spawn(|| tokio::runtime::Runtime::new()?.block_on(self.undo()));
            undo.join()
        });
        let set = self.set;
        match undone {
            Ok(Ok(())) => {
                eprintln!("the unfinished {set} was removed; just seed {set} starts again")
            }
            _ => {
                eprintln!("the unfinished {set} doesn't count; the next command removes it")
            }
        }
    }
}

impl Underway<'_> {
    /// Drops the database, over a new connection: the one of the build may be in the middle of making it.
    async fn undo(&self) -> anyhow::Result<()> {
        let mut connection = self.server.connect_for_maintenance().await?;
        sqlx::query("SELECT pg_terminate_backend($1, 10000)")
            .bind(self.pid)
            .execute(&mut connection)
            .await
            .context("cannot end the session that makes the data set")?;
        drop_database(&mut connection, self.building).await?;
        close(connection).await;
        Ok(())
    }
}

/// What PostgreSQL calls a database that somebody is connected to.
const IN_USE: &str = "55006";

/// What PostgreSQL calls a table that isn't there.
const NO_SUCH_TABLE: &str = "42P01";

/// How long a copy waits for readers of its source to go.
const READERS: Duration = Duration::from_secs(30);

/// Copies a database. PostgreSQL refuses while somebody is connected to the source; this waits a while for them.
pub(super) async fn copy(
    maintenance: &mut PgConnection,
    source: &str,
    target: &str,
) -> anyhow::Result<()> {
    let copied = wait::within(READERS, async || {
        let sql = format!("CREATE DATABASE \"{target}\" TEMPLATE \"{source}\"");
        let result = execute(maintenance, sql).await;
        let is_read = result
            .as_ref()
            .is_err_and(|error| code(error).as_deref() == Some(IN_USE));
        (!is_read).then_some(result)
    });
    match copied.await {
        Some(result) => result.with_context(|| format!("cannot copy the database {source}")),
        None => Trouble::new(format!(
            "something else reads the database {source}, so it cannot be copied"
        ))
        .expected("a moment without readers: PostgreSQL copies a database only then")
        .next("wait until the other command (a measurement?) has ended, then try again")
        .err(),
    }
}
