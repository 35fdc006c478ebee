//! Seeding: a data set is there, whole and unaltered, or it is made. Made aside, verified, then renamed; so an
//! interrupted one never counts as there.

use std::time::{Duration, Instant};

use anyhow::Context;
use sqlx::PgConnection;

use crate::connection::close;
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

/// As [`seed`], but drops a data set that is there and makes it anew.
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
/// other migrations, an older state of the course or a learner's, would refuse it for ever.
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

async fn find_or_make(
    server: &Server,
    workspace: &Workspace,
    set: DataSet,
    again: bool,
) -> anyhow::Result<Seeded> {
    let start = Instant::now();
    let names = Names::of(server.checkout());
    let turn = workspace.state().join(format!("seed-{set}.lock"));
    let _turn = Lock::take(&turn, &format!("seeds {set}")).await?;
    let mut maintenance = server.connect_for_maintenance().await?;
    if again {
        for name in [names.shared(set), names.template(set)] {
            drop_database(&mut maintenance, &name).await?;
        }
    }
    let is_leftover = |name: &str| names.is_passing(name) || names.is_outdated(name, set);
    databases::sweep(server, &mut maintenance, is_leftover).await?;
    let there = present(server, &mut maintenance, &names, set).await?;
    if !there {
        room::check(server, set).await?;
        make(server, &mut maintenance, &names, set).await?;
    }
    // Copies are made from a database that nobody reads, so that they never wait for a reader. Only of the small one:
    // a second `full` would cost another gigabyte.
    if set == DataSet::Small {
        make_template(server, &mut maintenance, &names, set).await?;
    }
    close(maintenance).await;
    Ok(Seeded {
        set,
        rows: set.rows(),
        fingerprint: records::fingerprint(set).to_owned(),
        fresh: !there,
        took: start.elapsed(),
    })
}

/// Makes the data set aside and gives it its name.
async fn make(
    server: &Server,
    maintenance: &mut PgConnection,
    names: &Names,
    set: DataSet,
) -> anyhow::Result<()> {
    let building = names.building(set);
    let _claim = Claim::take(server, &building)?;
    let pid = sqlx::query_scalar("SELECT pg_backend_pid()")
        .fetch_one(&mut *maintenance)
        .await?;
    let mut underway = Underway {
        server,
        pid,
        building: &building,
        set,
        done: false,
    };
    let made = build_and_name(server, maintenance, names, &building, set).await;
    underway.done = true;
    made
}

async fn build_and_name(
    server: &Server,
    maintenance: &mut PgConnection,
    names: &Names,
    building: &str,
    set: DataSet,
) -> anyhow::Result<()> {
    build::build(server, maintenance, building, set).await?;
    // One transaction: with the name come the protection against a slip of the hand and the note of what it is.
    let shared = names.shared(set);
    let note = format!(
        "Kotlin to Rust workshop, data set {set}, fingerprint {}",
        records::fingerprint(set)
    );
    execute(
        maintenance,
        format!(
            "BEGIN; \
             ALTER DATABASE \"{building}\" SET default_transaction_read_only = on; \
             COMMENT ON DATABASE \"{building}\" IS '{note}'; \
             ALTER DATABASE \"{building}\" RENAME TO \"{shared}\"; \
             COMMIT"
        ),
    )
    .await
    .with_context(|| format!("cannot give the data set {set} its name"))
}

/// A build. Dropped before it is done, when somebody interrupts the command, it removes what there is.
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
            Ok(Ok(())) => eprintln!("what there was of {set} is gone; just seed {set} starts anew"),
            _ => {
                eprintln!("what there is of {set} counts for nothing; the next command removes it")
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

/// Makes the template that runs copy, unless it is there.
async fn make_template(
    server: &Server,
    maintenance: &mut PgConnection,
    names: &Names,
    set: DataSet,
) -> anyhow::Result<()> {
    let (shared, template) = (names.shared(set), names.template(set));
    if exists(maintenance, &template).await? {
        return Ok(());
    }
    let aside = names.building(set);
    let _claim = Claim::take(server, &aside)?;
    copy(maintenance, &shared, &aside).await?;
    execute(
        maintenance,
        format!("ALTER DATABASE \"{aside}\" ALLOW_CONNECTIONS false"),
    )
    .await?;
    execute(
        maintenance,
        format!("ALTER DATABASE \"{aside}\" RENAME TO \"{template}\""),
    )
    .await
    .with_context(|| format!("cannot make the template {template}"))
}

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
        let code = result
            .as_ref()
            .err()
            .and_then(|error| error.as_database_error()?.code());
        let is_read = code.as_deref() == Some("55006");
        (!is_read).then_some(result)
    });
    match copied.await {
        Some(result) => result.with_context(|| format!("cannot copy the database {source}")),
        None => Err(Trouble::new(format!(
            "the database {source} is read by somebody else, so it cannot be copied"
        ))
        .expected("a moment without readers: PostgreSQL copies a database only then")
        .next("wait until the other command (a measurement?) has ended, then try again")
        .into()),
    }
}

/// True when the data set is there; an error when something else has its name.
async fn present(
    server: &Server,
    maintenance: &mut PgConnection,
    names: &Names,
    set: DataSet,
) -> anyhow::Result<bool> {
    let shared = names.shared(set);
    if !exists(maintenance, &shared).await? {
        return Ok(false);
    }
    let mut connection = server.connect(&shared).await?;
    // All rows where that is quick, else a quick look.
    let wrong = match set {
        DataSet::Small => records::read_fingerprint(&mut connection)
            .await
            .map(|found| {
                (found != records::fingerprint(set)).then(|| format!("its fingerprint is {found}"))
            }),
        DataSet::Pi | DataSet::Full => records::look(&mut connection, set).await,
    };
    close(connection).await;
    let wrong = match wrong {
        Err(sqlx::Error::Database(error)) if error.code().as_deref() == Some("42P01") => {
            Some("it has no table records".to_owned())
        }
        other => other.with_context(|| format!("cannot look at the data set {set}"))?,
    };
    match wrong {
        None => Ok(true),
        Some(why) => Err(
            Trouble::new(format!("the data set {set} is not what was made: {why}"))
                .expected(format!("the fingerprint {}", records::fingerprint(set)))
                .next(format!("just seed {set} --again makes it anew"))
                .into(),
        ),
    }
}
