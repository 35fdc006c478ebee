//! The migrations: the service brings the schema of its database up to date itself.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use rocket::tokio::{spawn, time::sleep};
use sqlx::{
    migrate::{MigrateError, Migrator},
    postgres::{PgConnectOptions, PgPoolOptions},
};
use tracing::warn;

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
pub struct Schema {
    up_to_date: Arc<AtomicBool>,
}

impl Schema {
    /// Begins to migrate in the background, and tries again until it has worked.
    pub fn migrate(settings: &Settings) -> Schema {
        const PAUSE: Duration = Duration::from_millis(500);

        // Some databases are read-only for those who do not ask otherwise.
        let read_write = [("default_transaction_read_only", "off")];
        let database = settings.database.clone().options(read_write);
        let limit = settings.database_timeout;
        let up_to_date = Arc::new(AtomicBool::new(false));
        let done = Arc::clone(&up_to_date);
        spawn(async move {
            while let Err(error) = migrate(database.clone(), limit).await {
                warn!("the migrations have not run, trying again: {error}");
                sleep(PAUSE).await;
            }
            done.store(true, Ordering::Release);
        });
        Schema { up_to_date }
    }

    /// Whether all migrations have run.
    pub fn is_up_to_date(&self) -> bool {
        self.up_to_date.load(Ordering::Acquire)
    }
}
// ANCHOR_END: schema
