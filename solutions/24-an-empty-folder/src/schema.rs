//! The schema: the service migrates its database itself.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use sqlx::{
    migrate::MigrateError,
    postgres::{PgConnectOptions, PgPoolOptions},
};
use thiserror::Error;
use tokio::time::{sleep, timeout};
use tracing::{error, warn};

use crate::outage::is_outage;

/// The time limit for an attempt: building an index on many reports can take a long time.
/// The database has the same time limit, so no session is left behind.
const LIMIT: Duration = Duration::from_secs(60 * 60);

/// How long an attempt waits for a connection, and the pause before the next attempt.
const CONNECT_LIMIT: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(250);

/// The columns that this release reads. The service isn't ready without them; others are fine.
const NEEDED: [&str; 2] = [
    "SELECT id, tag, kind, text, status, version, reported_at FROM reports LIMIT 0",
    "SELECT client, key, report_id, tag, kind, text, reported_at FROM idempotency_keys LIMIT 0",
];

/// The state of the schema. The service starts even if the schema isn't up to date yet.
#[derive(Clone, Default)]
pub struct Schema {
    up_to_date: Arc<AtomicBool>,
}

/// The reason why an attempt to migrate has failed.
#[derive(Debug, Error)]
enum Failed {
    #[error("the migrations have not run, trying again: {0}")]
    Migration(#[from] MigrateError),
    #[error("the database no longer has what this release needs, trying again: {0}")]
    Needed(#[from] sqlx::Error),
}

impl Schema {
    /// Returns at once. The migrations run in a task of their own, and are retried after a failure.
    pub fn migrate_in_background(database: PgConnectOptions) -> Schema {
        let schema = Schema::default();
        let migrating = schema.clone();
        let database = database.options([
            // Overrides the setting of databases that are read-only by default.
            ("default_transaction_read_only", "off".to_owned()),
            ("statement_timeout", LIMIT.as_millis().to_string()),
            // Queries queue behind an `ALTER` that waits for its lock, so it times out soon and is retried.
            ("lock_timeout", "1s".to_owned()),
            // If the connection goes silent, the database ends the session, which releases the lock.
            ("idle_session_timeout", "10s".to_owned()),
            ("idle_in_transaction_session_timeout", "10s".to_owned()),
        ]);
        tokio::spawn(async move {
            let mut last_reason = String::new();
            while let Err(failed) = attempt(&database).await {
                let reason = failed.to_string();
                // Log an outage once, however long it lasts.
                if reason != last_reason {
                    if failed.is_outage() {
                        warn!("{reason}");
                    } else {
                        error!("{reason}");
                    }
                    last_reason = reason;
                }
                sleep(PAUSE).await;
            }
            migrating.up_to_date.store(true, Ordering::Release);
        });
        schema
    }

    /// Whether all migrations have run.
    pub fn is_up_to_date(&self) -> bool {
        self.up_to_date.load(Ordering::Acquire)
    }
}

impl Failed {
    /// Whether waiting helps: the database is unavailable, or another session holds a lock.
    fn is_outage(&self) -> bool {
        match self {
            Failed::Migration(MigrateError::Execute(error))
            | Failed::Migration(MigrateError::ExecuteMigration(error, _))
            | Failed::Needed(error) => is_outage(error),
            Failed::Migration(_) => false,
        }
    }
}

async fn attempt(database: &PgConnectOptions) -> Result<(), Failed> {
    timeout(LIMIT, migrate(database.clone()))
        .await
        .unwrap_or_else(|elapsed| {
            let silence = sqlx::Error::Io(elapsed.into());
            Err(Failed::Migration(silence.into()))
        })
}

// ANCHOR: migrate
/// Runs the pending migrations, on a connection that is closed afterwards. `run` first takes a
/// lock in the database: if two instances start at the same time, one waits for the other.
async fn migrate(database: PgConnectOptions) -> Result<(), Failed> {
    // The files in `migrations/`, compiled into the program.
    let mut migrations = sqlx::migrate!();
    // Ignore the migrations of a later release. Otherwise, that release could not be rolled back.
    migrations.set_ignore_missing(true);
    let one_connection = PgPoolOptions::new()
        .max_connections(1)
        .acquire_timeout(CONNECT_LIMIT)
        .connect_with(database)
        .await
        .map_err(MigrateError::from)?;
    let migrated = async {
        migrations.run(&one_connection).await?;
        for needed in NEEDED {
            sqlx::query(needed).execute(&one_connection).await?;
        }
        Ok(())
    };
    let migrated = migrated.await;
    one_connection.close().await;
    migrated
}
// ANCHOR_END: migrate
