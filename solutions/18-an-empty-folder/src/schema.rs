//! The schema: the service brings the tables of its database up to date itself.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use sqlx::{
    migrate::{MigrateError, Migrator},
    postgres::{PgConnectOptions, PgPoolOptions},
};
use tokio::time::{sleep, timeout};
use tracing::error;

/// The files in `migrations/`, compiled into the program.
static MIGRATIONS: Migrator = sqlx::migrate!();

/// The longest that an attempt may take, and how long to wait before the next one.
const LIMIT: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(250);

/// The tables. They may not be there yet: the service does not wait for them to start.
#[derive(Clone, Default)]
pub struct Schema {
    up_to_date: Arc<AtomicBool>,
}

impl Schema {
    /// Begins to migrate in the background, and tries again until it has worked.
    pub fn migrate_in_background(database: PgConnectOptions) -> Schema {
        let schema = Schema::default();
        let migrating = schema.clone();
        tokio::spawn(async move {
            let mut last_reason = String::new();
            while let Err(reason) = attempt(&database).await {
                // An outage is one line, however long it lasts.
                if reason != last_reason {
                    error!("the migrations have not run, trying again: {reason}");
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

async fn attempt(database: &PgConnectOptions) -> Result<(), String> {
    match timeout(LIMIT, migrate(database.clone())).await {
        Ok(migrated) => migrated.map_err(|error| error.to_string()),
        Err(_elapsed) => Err("the database does not answer".to_owned()),
    }
}

/// Runs the migrations that this database has not had yet, on a connection that is closed afterwards. `run` takes a lock in the
/// database first: of two services that start at the same time, one waits for the other.
async fn migrate(database: PgConnectOptions) -> Result<(), MigrateError> {
    let one_connection = PgPoolOptions::new()
        .max_connections(1)
        .connect_with(database)
        .await?;
    let migrated = MIGRATIONS.run(&one_connection).await;
    one_connection.close().await;
    migrated
}
