//! The migrations: the service brings the schema of its database up to date itself.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use rocket::{
    fairing::AdHoc,
    tokio::{spawn, time::sleep},
};
use sqlx::{
    migrate::{MigrateError, Migrator},
    postgres::{PgConnectOptions, PgPoolOptions},
};
use tracing::{error, warn};

use crate::settings::Settings;

// ANCHOR: migrate
/// The files in `migrations/`, compiled into the program.
static MIGRATIONS: Migrator = sqlx::migrate!();

/// Runs the migrations that this database has not had yet.
///
/// `run` takes a lock in the database first: of two services that start at the same time, one waits
/// for the other. A migration that fails leaves the lock on its connection, so that is not one of
/// those that the requests share, and it is closed.
async fn migrate(database: PgConnectOptions, limit: Duration) -> Result<(), MigrateError> {
    let one_connection = PgPoolOptions::new()
        .max_connections(1)
        .acquire_timeout(limit)
        .connect_with(database)
        .await?;
    let result = MIGRATIONS.run(&one_connection).await;
    one_connection.close().await;
    result
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
    pub fn migrate_on_liftoff(&self, settings: &Settings) -> AdHoc {
        // Some databases are read-only for those who do not ask otherwise.
        let read_write = [("default_transaction_read_only", "off")];
        let database = settings.database.clone().options(read_write);
        let (schema, limit) = (self.clone(), settings.database_timeout);
        AdHoc::on_liftoff("migrations", move |_| {
            Box::pin(async move {
                spawn(schema.bring_up_to_date(database, limit));
            })
        })
    }

    /// Migrates, and tries again until it has worked or no attempt can.
    async fn bring_up_to_date(self, database: PgConnectOptions, limit: Duration) {
        const PAUSE: Duration = Duration::from_millis(500);

        let mut last_reason = String::new();
        while let Err(error) = migrate(database.clone(), limit).await {
            if is_permanent(&error) {
                error!("the migrations cannot run, so this service never gets ready: {error}");
                return;
            }
            // An outage is one line, however long it lasts.
            let reason = error.to_string();
            if reason != last_reason {
                warn!("the migrations have not run, trying again: {reason}");
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
// ANCHOR_END: schema
