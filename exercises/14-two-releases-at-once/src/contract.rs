//! `service contract`: the contract step, which drops the old column for good.
#![expect(dead_code, reason = "delete this line once all of it is written")]

use std::{process::ExitCode, time::Duration};

use sqlx::{ConnectOptions, PgConnection, postgres::PgConnectOptions};
use thiserror::Error;

use crate::{moving::has_old_column, settings::Settings, start, statements::VisitedFrom};

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
    todo!(
        "refuse while visits have no time; try {:?} until the table is free, {PAUSE:?} apart",
        take_away(&mut connection).await
    )
    // ANCHOR_END: contract
}

// ANCHOR: take-away
/// Drops the trigger and the column in one transaction. The check for readers runs
/// again once the table is locked: from then on, no new session can read the column.
async fn take_away(connection: &mut PgConnection) -> Result<(), Refusal> {
    todo!("lock the table on {connection:?}, ask once more, drop both, all in one transaction")
}
// ANCHOR_END: take-away

// ANCHOR: readers
/// Application names of people's and tools' sessions, none of which needs the old column.
const PEOPLE: [&str; 3] = ["psql", "pg_dump", "workshop"];

/// Fails unless every session is known not to read the old column. Release 1 sets no
/// application name, and PostgreSQL hides the type of another role's session, so both
/// count as readers. Server processes, such as autovacuum, have no user and don't count.
async fn nobody_reads_it(connection: &mut PgConnection) -> Result<(), Refusal> {
    let current = VisitedFrom::VisitedAt.application_name();
    todo!("ask {connection:?} for sessions that are neither {current} nor one of {PEOPLE:?}")
}
// ANCHOR_END: readers

/// Whether the wait for the lock timed out.
fn is_held(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(|error| error.code());
    code.as_deref() == Some("55P03")
}
