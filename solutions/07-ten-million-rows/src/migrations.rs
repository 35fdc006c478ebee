//! The migrations: the service brings the schema of its database up to date itself.

use std::time::Duration;

use rocket::{
    tokio::{spawn, task::JoinHandle, time::sleep},
    warn,
};
use sqlx::{
    migrate::{MigrateError, Migrator},
    postgres::{PgConnectOptions, PgPoolOptions},
};

// ANCHOR: migrations
/// The files in `migrations/`, compiled into the program.
static MIGRATIONS: Migrator = sqlx::migrate!();

/// Runs the migrations that this database has not had yet.
///
/// `run` takes a lock in the database first: of two services that start at the same time, one waits
/// for the other. A migration that fails leaves the lock on its connection, so that is not one of
/// those that the requests share, and it is closed.
async fn migrate(database: PgConnectOptions) -> Result<(), MigrateError> {
    let one_connection = PgPoolOptions::new()
        .max_connections(1)
        .connect_with(database)
        .await?;
    let result = MIGRATIONS.run(&one_connection).await;
    one_connection.close().await;
    result
}
// ANCHOR_END: migrations

/// The schema. It may not be up to date yet: the service does not wait for that to start.
pub struct Schema {
    migrating: JoinHandle<()>,
}

impl Schema {
    /// Begins to migrate, and tries again until it has worked.
    pub fn migrate(database: PgConnectOptions) -> Schema {
        const PAUSE: Duration = Duration::from_secs(1);

        let migrating = spawn(async move {
            while let Err(error) = migrate(database.clone()).await {
                warn!("the migrations have not run, trying again: {error}");
                sleep(PAUSE).await;
            }
        });
        Schema { migrating }
    }

    /// Whether all migrations have run.
    pub fn is_up_to_date(&self) -> bool {
        self.migrating.is_finished()
    }
}
