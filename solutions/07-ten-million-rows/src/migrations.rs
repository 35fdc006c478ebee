//! The migrations: the service brings the schema of its database up to date itself.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use rocket::{
    error,
    fairing::AdHoc,
    tokio::{
        spawn,
        time::{sleep, timeout},
    },
    warn,
};
use sqlx::{
    migrate::{MigrateError, Migrator},
    postgres::{PgConnectOptions, PgPoolOptions},
};

use crate::{error::is_outage, settings::DatabaseSettings};

// ANCHOR: migrate
/// The files in `migrations/`, compiled into the program.
static MIGRATIONS: Migrator = sqlx::migrate!();

/// Runs the migrations that this database has not had yet.
///
/// `run` takes a lock in the database first: of two services that start at the same time, one waits
/// for the other. A migration that fails or is given up leaves the lock on its connection. So that is
/// not one of those that the requests share, and it is closed.
async fn migrate(database: PgConnectOptions, limit: Duration) -> Result<(), MigrateError> {
    let one_connection = PgPoolOptions::new()
        .max_connections(1)
        .acquire_timeout(limit)
        .after_release(|_, _| Box::pin(async { Ok(false) })) // closed, not kept
        .connect_with(database)
        .await?;
    MIGRATIONS.run(&one_connection).await
}
// ANCHOR_END: migrate

// ANCHOR: schema
/// The schema. It may not be up to date yet: the service does not wait for that to start.
#[derive(Clone, Default)]
pub struct Schema {
    up_to_date: Arc<AtomicBool>,
}

impl Schema {
    /// Whether all migrations have run.
    pub fn is_up_to_date(&self) -> bool {
        self.up_to_date.load(Ordering::Acquire)
    }

    /// A fairing that begins to migrate in the background, as soon as the service listens.
    pub fn migrate_on_liftoff(&self, settings: &DatabaseSettings) -> AdHoc {
        let database = settings.url.clone().options([
            // Some databases are read-only for those who do not ask otherwise.
            ("default_transaction_read_only", "off"),
            // When the line falls silent, the database ends the session, and with it the lock.
            ("idle_session_timeout", "10s"),
            ("idle_in_transaction_session_timeout", "10s"),
        ]);
        let (connecting, migrating) = (settings.timeout, settings.migration_timeout);
        let schema = self.clone();
        AdHoc::on_liftoff("migrations", move |_| {
            Box::pin(async move {
                spawn(schema.bring_up_to_date(database, connecting, migrating));
            })
        })
    }

    /// Migrates, and tries again until it has worked or no attempt can.
    async fn bring_up_to_date(
        self,
        database: PgConnectOptions,
        connecting: Duration,
        migrating: Duration,
    ) {
        const PAUSE: Duration = Duration::from_millis(500);

        // An answer that was lost on its way never comes.
        let attempt = async || {
            timeout(migrating, migrate(database.clone(), connecting))
                .await
                .unwrap_or_else(|elapsed| Err(sqlx::Error::Io(elapsed.into()).into()))
        };
        let mut last_reason = String::new();
        while let Err(error) = attempt().await {
            if is_permanent(&error) {
                error!("the migrations cannot run, so this service never gets ready: {error}");
                return;
            }
            // One line, however long it lasts.
            let reason = error.to_string();
            if reason != last_reason {
                if is_mistake(&error) {
                    error!("the database rejects a migration, trying again: {reason}");
                } else {
                    warn!("the migrations have not run, trying again: {reason}");
                }
                last_reason = reason;
            }
            sleep(PAUSE).await;
        }
        self.up_to_date.store(true, Ordering::Release);
    }
}

/// Whether the database has seen other migrations than those of this program. Waiting does not help.
fn is_permanent(error: &MigrateError) -> bool {
    !matches!(
        error,
        MigrateError::Execute(_) | MigrateError::ExecuteMigration(..)
    )
}

/// Whether the database was there, and something in it or in the migration has to change.
fn is_mistake(error: &MigrateError) -> bool {
    match error {
        MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => {
            matches!(error, sqlx::Error::Database(_)) && !is_outage(error)
        }
        _ => false,
    }
}
// ANCHOR_END: schema
