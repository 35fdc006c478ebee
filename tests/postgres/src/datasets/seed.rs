//! Seeding: a data set is there, whole and unaltered, or it is made. Made aside, verified, then renamed; so an
//! interrupted one never counts as there.

use std::time::{Duration, Instant};

use anyhow::Context;
use futures_util::future::LocalBoxFuture;
use sqlx::PgConnection;

use crate::connection::{close, code};
use crate::databases::{self, BUILDING, NameClaim, drop_database, execute};
use crate::datasets::set::DataSet;
use crate::datasets::{build, room};
use crate::server::Server;
use workshop_base::lock::Lock;
use workshop_base::outcome::Trouble;
use workshop_base::workspace::Workspace;

/// What PostgreSQL calls a table that isn't there.
const NO_SUCH_TABLE: &str = "42P01";

/// A data set that is there. No command makes it again as long as this isn't dropped.
#[derive(Debug)]
pub struct Seeded {
    pub set: DataSet,
    /// True when it was made just now.
    pub fresh: bool,
    /// How long that took, or how long it took to see that it is there.
    pub took: Duration,
    _in_use: Option<Lock>,
}

/// Sees to it that a data set is there; draws its progress when it has to be made. Rows that are not those of the data set are an
/// error. Nothing half-made is left that would count, also when the future is dropped.
pub async fn seed(server: &Server, workspace: &Workspace, set: DataSet) -> anyhow::Result<Seeded> {
    find_or_make(server, workspace, set, false).await
}

/// As [`seed`], but drops a data set that is there and makes it again, unless another command reads it.
pub async fn seed_again(
    server: &Server,
    workspace: &Workspace,
    set: DataSet,
) -> anyhow::Result<Seeded> {
    find_or_make(server, workspace, set, true).await
}

/// The URL of a seeded database, for reading; it is read-only unless a session asks otherwise.
pub fn shared_url(server: &Server, set: DataSet) -> String {
    server.url(&set.database(server.checkout()))
}

/// The same for people: without the password of a server that is the user's own.
pub fn shown_url(server: &Server, set: DataSet) -> String {
    server.shown_url(&set.database(server.checkout()))
}

/// Removes the record of migrations that services of an earlier session have left in a seeded database: a service with
/// other migrations, an older state of the course or a learner's, would refuse it forever.
pub async fn forget_migrations(server: &Server, set: DataSet) -> anyhow::Result<()> {
    let name = set.database(server.checkout());
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
        let mut maintenance = server.connect_for_maintenance().await?;
        let name = set.database(server.checkout());
        let in_use = server.claim(&name);
        if again {
            // Where the file system has no locks, nobody is asked.
            let alone = Lock::try_take(&in_use).ok();
            if matches!(alone, Some(None)) {
                return Trouble::new(format!("another command works with the data set {set}"))
                    .expected("nobody who reads it while it is made again")
                    .next(format!(
                        "wait until that command has ended, or end it; then just seed {set} --again"
                    ))
                    .err();
            }
            drop_database(&mut maintenance, &name).await?;
        }
        databases::sweep(server, &mut maintenance).await?;
        let fresh = !is_there(server, &mut maintenance, &name, set).await?;
        if fresh {
            room::check(server, set).await?;
            make(server, &mut maintenance, &name, set).await?;
            for other in databases::of_other_versions(server, &mut maintenance).await? {
                eprintln!(
                    "{other} is a data set of another version of the course; it stays until just clean"
                );
            }
        }
        close(maintenance).await;
        Ok(Seeded {
            set,
            fresh,
            took: start.elapsed(),
            _in_use: Lock::try_share(&in_use).ok().flatten(),
        })
    })
}

/// True when the data set is there; an error when something else has its name.
async fn is_there(
    server: &Server,
    maintenance: &mut PgConnection,
    name: &str,
    set: DataSet,
) -> anyhow::Result<bool> {
    let exists: bool =
        sqlx::query_scalar("SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)")
            .bind(name)
            .fetch_one(maintenance)
            .await
            .context("cannot list the databases")?;
    if !exists {
        return Ok(false);
    }
    let mut connection = server.connect(name).await?;
    let wrong = set.look(&mut connection).await;
    close(connection).await;
    let wrong = match wrong {
        Err(error) if code(&error).as_deref() == Some(NO_SUCH_TABLE) => {
            Some("it has no table records".to_owned())
        }
        other => other.with_context(|| format!("cannot look at the data set {set}"))?,
    };
    let Some(why) = wrong else { return Ok(true) };
    Trouble::new(format!(
        "the data set {set} has changed since it was made: {why}"
    ))
    .expected(format!("the fingerprint {}", set.fingerprint()))
    .next(format!("just seed {set} --again makes it again"))
    .err()
}

/// Makes the data set aside and gives it its name.
async fn make(
    server: &Server,
    maintenance: &mut PgConnection,
    name: &str,
    set: DataSet,
) -> anyhow::Result<()> {
    let claim = NameClaim::new(server, &format!("{BUILDING}_{set}"))?;
    let building = claim.name();
    let pid = sqlx::query_scalar("SELECT pg_backend_pid()")
        .fetch_one(&mut *maintenance)
        .await?;
    let mut underway = Underway {
        server,
        pid,
        building,
        set,
        done: false,
    };
    let made = async {
        databases::create(maintenance, building).await?;
        build::fill(server, building, set).await
    };
    let made = made.await;
    made.map_err(|error| build::in_words(error, server, set))?;
    // One transaction: with the name come the protection against a slip of the hand and the note of what it is.
    let fingerprint = set.fingerprint();
    let naming = format!(
        "BEGIN; \
         ALTER DATABASE \"{building}\" SET default_transaction_read_only = on; \
         COMMENT ON DATABASE \"{building}\" IS 'Kotlin to Rust workshop, data set {set}, fingerprint {fingerprint}'; \
         ALTER DATABASE \"{building}\" RENAME TO \"{name}\"; \
         COMMIT"
    );
    execute(maintenance, naming)
        .await
        .with_context(|| format!("cannot give the data set {set} its name"))?;
    underway.done = true;
    Ok(())
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
        let set = self.set;
        eprintln!("removing the unfinished {set} …");
        // On a thread of its own: a runtime's threads cannot wait in a destructor.
        let undone = std::thread::scope(|scope| {
            let undo = scope.spawn(|| tokio::runtime::Runtime::new()?.block_on(self.undo()));
            undo.join()
        });
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
