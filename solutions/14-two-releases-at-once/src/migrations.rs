//! The migrations: the service itself brings the schema of its database up to date.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use rocket::{
    fairing::AdHoc,
    tokio::{
        spawn,
        time::{sleep, timeout},
    },
};
use sqlx::{
    ConnectOptions,
    migrate::MigrateError,
    postgres::{PgConnectOptions, PgPoolOptions},
};
use tracing::{error, warn};

use crate::{
    error::is_outage,
    in_the_way::in_the_way,
    moving,
    settings::DatabaseSettings,
    statements::{NEEDED, VisitedFrom},
};

/// How long to wait before the next attempt.
const PAUSE: Duration = Duration::from_millis(500);

// ANCHOR: migrate
/// Runs the files in `migrations/`, which are compiled into the program, unless this database
/// has them already. Then checks that the required columns exist by selecting them by name.
///
/// A later release may have migrated this database already. Its migrations are ignored, so
/// that a rollback to this release works, unless a column that this release needs was dropped.
///
/// Returns the number of visits that have no time yet.
///
/// `run` takes a lock in the database first: if two services start at the same time,
/// one waits for the other. A migration that fails or times out leaves the lock on
/// its connection, so it gets a connection of its own, which is closed afterwards.
async fn migrate(
    database: PgConnectOptions,
    from: VisitedFrom,
    limit: Duration,
) -> Result<i64, MigrateError> {
    let one_connection = PgPoolOptions::new()
        .max_connections(1)
        .acquire_timeout(limit)
        .after_release(|_, _| Box::pin(async { Ok(false) })) // closed, not kept
        .connect_with(database)
        .await?;
    let mut migrations = sqlx::migrate!();
    migrations.set_ignore_missing(true);
    migrations.run(&one_connection).await?;
    let mut connection = one_connection.acquire().await?;
    sqlx::query(NEEDED.of(from))
        .execute(&mut *connection)
        .await?;
    Ok(moving::left(&mut connection).await?)
}
// ANCHOR_END: migrate

// ANCHOR: schema
/// Whether the schema is up to date. The service starts without waiting for the migrations.
#[derive(Clone, Default)]
pub struct Schema {
    up_to_date: Arc<AtomicBool>,
}

impl Schema {
    /// Whether all migrations have run, and the needed columns existed afterwards.
    pub fn is_up_to_date(&self) -> bool {
        self.up_to_date.load(Ordering::Acquire)
    }

    /// A fairing that begins to migrate in the background, as soon as the service listens.
    pub fn migrate_on_liftoff(&self, settings: &DatabaseSettings) -> AdHoc {
        let database = settings.url.clone().options([
            // Some databases are read-only by default.
            ("default_transaction_read_only", "off"),
            // If the connection goes silent, the database ends the session and releases the lock.
            ("idle_session_timeout", "10s"),
            ("idle_in_transaction_session_timeout", "10s"),
            // While a migration waits for a lock on its table, every later query queues behind it.
            ("lock_timeout", "1s"),
        ]);
        let (connecting, migrating) = (settings.timeout, settings.migration_timeout);
        let from = settings.visited_from;
        // The database gives up when we do, so that no abandoned attempt lingers there.
        let database = database.options([("statement_timeout", migrating.as_millis())]);
        let schema = self.clone();
        AdHoc::on_liftoff("migrations", move |_| {
            Box::pin(async move {
                spawn(schema.bring_up_to_date(database, from, connecting, migrating));
            })
        })
    }

    /// Migrates, and retries until it succeeds. Then backfills the new column; an
    /// instance that reads the new column isn't ready before the backfill is done.
    async fn bring_up_to_date(
        self,
        database: PgConnectOptions,
        from: VisitedFrom,
        connecting: Duration,
        migrating: Duration,
    ) {
        // An answer can get lost, so each attempt has a time limit.
        let attempt = async || {
            timeout(migrating, migrate(database.clone(), from, connecting))
                .await
                .unwrap_or_else(|elapsed| Err(sqlx::Error::Io(elapsed.into()).into()))
        };
        let mut last_line = String::new();
        let left = loop {
            let error = match attempt().await {
                Ok(left) => break left,
                Err(error) => error,
            };
            // One line per outage, however long it lasts.
            let (may_pass, mut line) = in_words(&error);
            if line.contains(LOCK)
                && let Ok(sessions) = blockers(&database).await
            {
                line = format!("{line}; in the way: {sessions}");
            }
            if line != last_line {
                if may_pass {
                    warn!("{line}");
                } else {
                    error!("{line}");
                }
                last_line = line;
            }
            sleep(PAUSE).await;
        };
        if left > 0 {
            if from == VisitedFrom::Visited {
                self.up_to_date.store(true, Ordering::Release);
            } else {
                warn!(
                    "VISITED_FROM is visited_at, and {left} visits have no time yet: not ready before"
                );
            }
            fill(database, migrating).await;
        }
        self.up_to_date.store(true, Ordering::Release);
    }
}
// ANCHOR_END: schema

/// Backfills, with retries, until every visit has a time.
async fn fill(database: PgConnectOptions, limit: Duration) {
    // No lock timeout from here on: while this session waits for a lock, it blocks no other one.
    let patient = database.options([("lock_timeout", "0")]);
    let attempt = async || {
        timeout(limit, moving::bring_along(&patient))
            .await
            .unwrap_or_else(|elapsed| Err(sqlx::Error::Io(elapsed.into())))
    };
    let mut last_line = String::new();
    while let Err(error) = attempt().await {
        let line = format!("not every visit has a time, trying again: {error}");
        if line != last_line {
            warn!("{line}");
            last_line = line;
        }
        sleep(PAUSE).await;
    }
}

/// The sessions that hold a lock on the table that a migration waits for.
async fn blockers(database: &PgConnectOptions) -> sqlx::Result<String> {
    in_the_way(&mut database.connect().await?).await
}

/// The log message that the blocking sessions are appended to.
const LOCK: &str = "the migrations wait for a lock";

// ANCHOR: in-words
/// Whether the error may be transient, and its log line.
fn in_words(error: &MigrateError) -> (bool, String) {
    let (MigrateError::Execute(cause) | MigrateError::ExecuteMigration(cause, _)) = error else {
        // For instance, a migration file has changed since it ran.
        return (
            false,
            format!("the migrations cannot run, trying again: {error}"),
        );
    };
    let code = cause.as_database_error().and_then(|error| error.code());
    let (may_pass, what) = match code.as_deref() {
        // No such column, no such table.
        Some("42703" | "42P01") => (false, "the database no longer has what this release needs"),
        Some("55P03") => (true, LOCK),
        Some(_) if !is_outage(cause) => (false, "the database rejects a migration"),
        _ => (true, "the migrations have not run"),
    };
    (may_pass, format!("{what}, trying again: {cause}"))
}
// ANCHOR_END: in-words
