//! The rows of a data set: inserted into an empty database, until they are whole and verified.

use sqlx::{Connection, PgConnection};

use crate::connection::{close, code, words};
use crate::datasets::progress::SeedProgress;
use crate::datasets::room;
use crate::datasets::set::{ADD_PRIMARY_KEY, CREATE, DataSet, ROWS, read_fingerprint};
use crate::server::Server;
use workshop_base::outcome::Trouble;

/// Rows a statement: large enough to cost nothing, small enough for a bar that moves and a quick end after Ctrl-C.
const CHUNK: usize = 100_000;

/// What PostgreSQL calls a disk without room, and what its words for a server that goes away begin with.
const DISK_FULL: &str = "53100";
const SHUTDOWN: &str = "57P";

/// Fills the empty database `name` with the rows of a data set, and verifies them.
pub(super) async fn fill(server: &Server, name: &str, set: DataSet) -> anyhow::Result<()> {
    let mut connection = server.connect(name).await?;
    insert(&mut connection, set).await?;
    let found = read_fingerprint(&mut connection).await?;
    close(connection).await;
    if found != set.fingerprint() {
        return Trouble::new(format!(
            "the rows that PostgreSQL {} made have the fingerprint {found}",
            server.version()
        ))
        .expected(set.fingerprint())
        .next("report this, with the version: the rows must not differ between versions")
        .err();
    }
    Ok(())
}

/// Table, rows and primary key in one transaction: either all of it is there or nothing. PostgreSQL also writes no log
/// for a table that the same transaction made (with `wal_level = minimal`), which halves the time.
pub(super) async fn insert(connection: &mut PgConnection, set: DataSet) -> Result<(), sqlx::Error> {
    let mut progress = SeedProgress::of(set);
    let mut transaction = connection.begin().await?;
    sqlx::raw_sql("SET LOCAL maintenance_work_mem = '256MB'")
        .execute(&mut *transaction)
        .await?;
    sqlx::raw_sql(CREATE).execute(&mut *transaction).await?;
    for first in (1..=set.rows()).step_by(CHUNK) {
        let last = (first + CHUNK as u32 - 1).min(set.rows());
        sqlx::query(ROWS)
            .bind(first.cast_signed())
            .bind(last.cast_signed())
            .execute(&mut *transaction)
            .await?;
        progress.rows(last);
    }
    progress.step("primary key");
    sqlx::raw_sql(ADD_PRIMARY_KEY)
        .execute(&mut *transaction)
        .await?;
    progress.step("writing to disk");
    transaction.commit().await?;
    // Marks the rows as visible to all. Otherwise the first reads would do that, and be measured doing it.
    progress.step("vacuum and statistics");
    sqlx::raw_sql("VACUUM (ANALYZE) records")
        .execute(&mut *connection)
        .await?;
    progress.step("verifying the fingerprint");
    Ok(())
}

/// The errors that people meet, in their words.
pub(super) fn in_words(error: anyhow::Error, server: &Server, set: DataSet) -> anyhow::Error {
    let mut causes = error
        .chain()
        .map(|cause| cause.downcast_ref::<sqlx::Error>());
    let Some(cause) = causes.find_map(|cause| cause) else {
        return error;
    };
    match (cause, code(cause).as_deref()) {
        (_, Some(DISK_FULL)) => room::ran_out(set, server.provider()).into(),
        (sqlx::Error::Io(_) | sqlx::Error::Protocol(_), _) => gone(set, cause),
        (_, Some(code)) if code.starts_with(SHUTDOWN) => gone(set, cause),
        _ => error,
    }
}

fn gone(set: DataSet, cause: &sqlx::Error) -> anyhow::Error {
    let why = words(cause);
    Trouble::new(format!(
        "the database went away while {set} was made: {why}"
    ))
    .expected("a server that keeps running; an unfinished data set doesn't count")
    .next(format!("just seed {set} starts again"))
    .into()
}
