//! The database: the pool that all requests share, and how long a request can wait for it.

use std::time::Duration;

use rocket::tokio::time::timeout;
use sqlx::{Connection, PgConnection, PgPool, postgres::PgPoolOptions};

use crate::{
    error::{Error, is_stale_plan},
    settings::DatabaseSettings,
};

// ANCHOR: database
/// A pool of connections, and a time limit for the work on each.
pub struct Database {
    pool: PgPool,
    limit: Duration,
}

impl Database {
    /// Opens nothing yet: each connection is opened when a request first needs it, so the service
    /// starts without a database.
    pub fn new(settings: &DatabaseSettings) -> Database {
        let limit = settings.timeout;
        // The database gives up when we do. Otherwise it would continue queries whose client has gone,
        // on connections that the pool no longer counts.
        let statement_timeout = limit.as_millis();
        let options = settings
            .url
            .clone()
            .options([("statement_timeout", statement_timeout)]);
        // The pool pings a connection before lending it, and again when the connection comes back.
        // Each ping costs a round trip. `test_before_acquire` controls the first ping, see
        // exercise 6.
        // If the server grants fewer connections than this pool wants, some requests get a 503: while
        // the pool tries to open a connection, it ignores those that come back. The pool of
        // exercise 11 waits for them.
        let pool = PgPoolOptions::new()
            .max_connections(settings.pool_size.get().into())
            .acquire_timeout(limit)
            .connect_lazy_with(options);
        Database { pool, limit }
    }

    /// Lends a connection to `work`, and returns it to the pool.
    ///
    /// # Errors
    /// There is no connection within the time limit, `work` takes longer than the time limit, or
    /// `work` fails.
    pub async fn run<T>(
        &self,
        work: impl AsyncFnOnce(&mut PgConnection) -> sqlx::Result<T>,
    ) -> Result<T, Error> {
        let mut connection = self.pool.acquire().await?;
        match timeout(self.limit, work(&mut connection)).await {
            Ok(result) => {
                if result.as_ref().is_err_and(is_stale_plan) {
                    // A new connection prepares its statements for the current schema.
                    connection.close_on_drop();
                }
                Ok(result?)
            }
            Err(_elapsed) => {
                // The answer may still come. The next request must not mistake it for its own.
                connection.close_on_drop();
                let limit = self.limit.as_millis();
                Err(Error::Unavailable(
                    format!("no answer within {limit} ms").into(),
                ))
            }
        }
    }

    // ANCHOR: read
    /// Like [`Database::run`], for `work` that only reads, so it can run twice: if the schema has
    /// changed since the statement was prepared, the statement is prepared again.
    ///
    /// # Errors
    /// As for [`Database::run`].
    pub async fn read<T>(
        &self,
        work: impl AsyncFnOnce(&mut PgConnection) -> sqlx::Result<T> + Copy,
    ) -> Result<T, Error> {
        self.run(async |connection| match work(connection).await {
            Err(error) if is_stale_plan(&error) => {
                connection.clear_cached_statements().await?;
                work(connection).await
            }
            result => result,
        })
        .await
    }
    // ANCHOR_END: read
}
// ANCHOR_END: database
