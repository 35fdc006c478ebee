//! `service contract`: the contract step, which drops the old column for good.

use std::{process::ExitCode, time::Duration};

use rocket::tokio::time::sleep;
use sqlx::{ConnectOptions, Connection, PgConnection, postgres::PgConnectOptions};
use thiserror::Error;

use crate::{
    in_the_way::in_the_way,
    moving::{has_old_column, undated},
    settings::Settings,
    start,
    statements::VisitedFrom,
};

/// How long to wait before the next attempt to lock the table.
const PAUSE: Duration = Duration::from_millis(500);

/// The reason why the old column can't be dropped.
#[derive(Debug, Error)]
enum Refusal {
    #[error("records.visited stays: {0} visits have no visited_at yet; the service gives them one")]
    Undated(i64),
    #[error("records.visited stays: it may still be read by {0}; stop these, then run this again")]
    Read(String),
    #[error("records.visited stays: {0}")]
    Database(#[from] sqlx::Error),
}

/// Exit code 0 if the old column is gone; otherwise 1, with the reason on standard error.
pub async fn run(settings: &Settings) -> ExitCode {
    match contract(&settings.database.url).await {
        Ok(()) => {
            println!("records.visited is gone");
            ExitCode::SUCCESS
        }
        Err(refusal) => start::refuse(&refusal),
    }
}

/// Drops the old column. Retries while another session holds a lock on the table.
async fn contract(database: &PgConnectOptions) -> Result<(), Refusal> {
    let database = database.clone().options([("lock_timeout", "100ms")]);
    let mut connection = database.connect().await?;
    if !has_old_column(&mut connection).await? {
        return Ok(());
    }
    // ANCHOR: contract
    let left = undated(&mut connection).await?;
    if left > 0 {
        return Err(Refusal::Undated(left));
    }
    loop {
        nobody_reads_it(&mut connection).await?;
        match take_away(&mut connection).await {
            Err(Refusal::Database(error)) if is_held(&error) => {
                let sessions = in_the_way(&mut connection).await?;
                eprintln!("the table is held, trying again; in the way: {sessions}");
                sleep(PAUSE).await;
            }
            result => return result,
        }
    }
    // ANCHOR_END: contract
}

// ANCHOR: take-away
/// Drops the trigger and the column in one transaction. The check for readers runs
/// again once the table is locked: from then on, no new session can read the column.
async fn take_away(connection: &mut PgConnection) -> Result<(), Refusal> {
    let mut transaction = connection.begin().await?;
    sqlx::raw_sql("LOCK TABLE records IN ACCESS EXCLUSIVE MODE")
        .execute(&mut *transaction)
        .await?;
    nobody_reads_it(&mut transaction).await?;
    sqlx::raw_sql(
        "DROP TRIGGER note_visit_twice ON records; \
         DROP FUNCTION note_visit_twice(); \
         ALTER TABLE records DROP COLUMN visited",
    )
    .execute(&mut *transaction)
    .await?;
    transaction.commit().await?;
    Ok(())
}
// ANCHOR_END: take-away

// ANCHOR: readers
/// Application names of people's and tools' sessions, none of which needs the old column.
const PEOPLE: [&str; 3] = ["psql", "pg_dump", "workshop"];

/// Fails unless every session is known not to read the old column. Release 1 sets no
/// application name, and PostgreSQL hides the type of another role's session, so both
/// count as readers. Server processes, such as autovacuum, have no user and don't count.
async fn nobody_reads_it(connection: &mut PgConnection) -> Result<(), Refusal> {
    let readers: Option<String> = sqlx::query_scalar(
        "SELECT string_agg(format('pid %s (%s)', pid, \
                                  coalesce(nullif(application_name, ''), 'without a name')), ', ') \
         FROM pg_stat_activity \
         WHERE datname = current_database() AND usesysid IS NOT NULL \
           AND coalesce(backend_type, 'client backend') = 'client backend' \
           AND pid <> pg_backend_pid() AND application_name <> $1 AND application_name <> ALL ($2)",
    )
    .bind(VisitedFrom::VisitedAt.application_name())
    .bind(PEOPLE)
    .fetch_one(connection)
    .await?;
    readers.map_or(Ok(()), |readers| Err(Refusal::Read(readers)))
}
// ANCHOR_END: readers

/// Whether the wait for the lock timed out.
fn is_held(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(|error| error.code());
    code.as_deref() == Some("55P03")
}
