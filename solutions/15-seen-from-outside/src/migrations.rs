//! Migrations: the service itself brings the schema of its database up to date.

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
    migrate::MigrateError,
    postgres::{PgConnectOptions, PgPoolOptions},
};
use tracing::{error, warn};

use crate::{error::is_outage, settings::DatabaseSettings};

// ANCHOR: migrate
/// Selects the columns that this release reads, and so fails if one of them is missing.
const NEEDED: &str = "SELECT id, value, odd, divisible_by_3, visited FROM records LIMIT 0";

/// Runs the files in `migrations/`, which are compiled into the program, except those that
/// have already run on this database. Then checks for the columns that this release needs.
///
/// A later release may already have migrated the database. A rollback to this release must
/// remain possible, so later migrations are ignored as long as the needed columns exist.
///
/// `run` first takes a lock in the database: if two instances start at the same time, one
/// waits for the other. A migration that fails or times out leaves its connection holding
/// the lock, so migrations run on a separate connection, which is closed afterwards.
async fn migrate(database: PgConnectOptions, limit: Duration) -> Result<(), MigrateError> {
    let one_connection = PgPoolOptions::new()
        .max_connections(1)
        .acquire_timeout(limit)
        .after_release(|_, _| Box::pin(async { Ok(false) })) // closed, not kept
        .connect_with(database)
        .await?;
    let mut migrations = sqlx::migrate!();
    migrations.set_ignore_missing(true);
    migrations.run(&one_connection).await?;
    sqlx::query(NEEDED).execute(&one_connection).await?;
    Ok(())
}
// ANCHOR_END: migrate

// ANCHOR: schema
/// Tracks whether the schema is up to date: the service starts before the migrations have run.
#[derive(Clone, Default)]
pub struct Schema {
    up_to_date: Arc<AtomicBool>,
}

impl Schema {
    /// Whether all migrations have run, and all needed columns were found afterwards.
    pub fn is_up_to_date(&self) -> bool {
        self.up_to_date.load(Ordering::Acquire)
    }

    /// A fairing that starts the migrations in the background, as soon as the service listens.
    pub fn migrate_on_liftoff(&self, settings: &DatabaseSettings) -> AdHoc {
        let database = settings.url.clone().options([
            // Overrides the setting of databases that are read-only by default.
            ("default_transaction_read_only", "off"),
            // If the connection goes silent, the database ends the session, which releases the lock.
            ("idle_session_timeout", "10s"),
            ("idle_in_transaction_session_timeout", "10s"),
            // While a migration waits for a table lock, all later queries on the table queue behind it.
            ("lock_timeout", "1s"),
        ]);
        let (connecting, migrating) = (settings.timeout, settings.migration_timeout);
        // The database cancels a statement when we give up, so that no abandoned attempt keeps running.
        let database = database.options([("statement_timeout", migrating.as_millis())]);
        let schema = self.clone();
        AdHoc::on_liftoff("migrations", move |_| {
            Box::pin(async move {
                spawn(schema.bring_up_to_date(database, connecting, migrating));
            })
        })
    }

    /// Runs the migrations, and retries until they succeed.
    async fn bring_up_to_date(
        self,
        database: PgConnectOptions,
        connecting: Duration,
        migrating: Duration,
    ) {
        const PAUSE: Duration = Duration::from_millis(500);

        // Without a time limit, an attempt would never end if the database's answer got lost.
        let attempt = async || {
            timeout(migrating, migrate(database.clone(), connecting))
                .await
                .unwrap_or_else(|elapsed| Err(sqlx::Error::Io(elapsed.into()).into()))
        };
        let mut last_line = String::new();
        while let Err(error) = attempt().await {
            // Logs a line only if it differs from the last one, to log a long outage only once.
            let (may_pass, line) = in_words(&error);
            if line != last_line {
                if may_pass {
                    warn!("{line}");
                } else {
                    error!("{line}");
                }
                last_line = line;
            }
            sleep(PAUSE).await;
        }
        self.up_to_date.store(true, Ordering::Release);
    }
}
// ANCHOR_END: schema

// ANCHOR: in-words
/// Whether the error may be transient, and the line to log for it.
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
        Some("55P03") => (true, "the migrations wait for a lock"),
        Some(_) if !is_outage(cause) => (false, "the database rejects a migration"),
        _ => (true, "the migrations have not run"),
    };
    (may_pass, format!("{what}, trying again: {cause}"))
}
// ANCHOR_END: in-words
