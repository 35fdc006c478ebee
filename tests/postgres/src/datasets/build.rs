//! Making a data set in a database of its own, until it is whole and verified. It counts only after that, under another
//! name; see [`crate::datasets::seed`].

use anyhow::Context;
use sqlx::{Connection, PgConnection};

use crate::connection::{close, words};
use crate::databases::{self, execute};
use crate::datasets::progress::Progress;
use crate::datasets::set::DataSet;
use crate::datasets::{records, room};
use crate::server::Server;
use workshop_base::outcome::Trouble;

/// Rows a statement: large enough to cost nothing, small enough for a bar that moves and a quick end after Ctrl-C.
const CHUNK: u32 = 100_000;

/// Makes the database `name`, which the caller has claimed, with the rows of `set` and verifies them. After an error the database
/// is gone, as far as the server still answers.
pub(super) async fn build(
    server: &Server,
    maintenance: &mut PgConnection,
    name: &str,
    set: DataSet,
) -> anyhow::Result<()> {
    let result = attempt(server, maintenance, name, set).await;
    if let Err(error) = result {
        // Best effort: on a server that is gone, the next command sweeps.
        let _ = databases::drop_database(maintenance, name).await;
        return Err(in_words(error, server, set));
    }
    Ok(())
}

async fn attempt(
    server: &Server,
    maintenance: &mut PgConnection,
    name: &str,
    set: DataSet,
) -> anyhow::Result<()> {
    execute(
        maintenance,
        format!("CREATE DATABASE \"{name}\" TEMPLATE template0 ENCODING 'UTF8'"),
    )
    .await
    .with_context(|| format!("cannot make the database {name}"))?;
    let mut connection = server.connect(name).await?;
    fill(&mut connection, set).await?;
    let found = records::read_fingerprint(&mut connection).await?;
    close(connection).await;
    if found != records::fingerprint(set) {
        return Err(Trouble::new(format!(
            "the rows that PostgreSQL {} made have the fingerprint {found}",
            server.version()
        ))
        .expected(records::fingerprint(set))
        .next("report this, with the version: the rows must not differ between versions")
        .into());
    }
    Ok(())
}

/// Table, rows and primary key in one transaction: either all of it is there or nothing. PostgreSQL also writes no log
/// for a table that the same transaction made (with `wal_level = minimal`), which halves the time.
async fn fill(connection: &mut PgConnection, set: DataSet) -> Result<(), sqlx::Error> {
    let mut progress = Progress::of(set);
    let mut transaction = connection.begin().await?;
    sqlx::raw_sql("SET LOCAL maintenance_work_mem = '256MB'")
        .execute(&mut *transaction)
        .await?;
    sqlx::raw_sql(records::CREATE)
        .execute(&mut *transaction)
        .await?;
    let mut first = 1;
    while first <= set.rows() {
        let last = (first + CHUNK - 1).min(set.rows());
        sqlx::query(records::ROWS)
            .bind(i32::try_from(first).unwrap_or(i32::MAX))
            .bind(i32::try_from(last).unwrap_or(i32::MAX))
            .execute(&mut *transaction)
            .await?;
        progress.rows(last);
        first = last + 1;
    }
    progress.step("primary key");
    sqlx::raw_sql(records::ADD_PRIMARY_KEY)
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
fn in_words(error: anyhow::Error, server: &Server, set: DataSet) -> anyhow::Error {
    let Some(cause) = error
        .chain()
        .find_map(|cause| cause.downcast_ref::<sqlx::Error>())
    else {
        return error;
    };
    match cause {
        sqlx::Error::Database(refusal) if refusal.code().as_deref() == Some("53100") => {
            room::ran_out(set, server.provider()).into()
        }
        sqlx::Error::Database(refusal)
            if !refusal.code().is_some_and(|code| code.starts_with("57P")) =>
        {
            error
        }
        sqlx::Error::Database(_) | sqlx::Error::Io(_) | sqlx::Error::Protocol(_) => {
            Trouble::new(format!(
                "the database went away while {set} was made: {}",
                words(cause)
            ))
            .expected("a server that stays; nothing half-made counts")
            .next(format!("just seed {set} starts anew"))
            .into()
        }
        _ => error,
    }
}
