//! The database: the connections that all requests share, and how long a request may wait for them.

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
        // The database gives up when we do. Otherwise it would go on with queries that nobody waits
        // for, on connections that the pool no longer counts.
        let statement_timeout = limit.as_millis();
        let options = settings
            .url
            .clone()
            .options([("statement_timeout", statement_timeout)]);
        // Before the pool lends a connection it asks the database whether it is still good, and again
        // when it comes back. Each costs a round trip; `test_before_acquire` is the first, see
        // exercise 6.
        // When the server gives fewer connections than this pool wants, some requests get a 503:
        // while the pool opens one, it no longer looks at those that come back. Exercise 11's waits
        // for them.
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
                    // A new connection plans its statements for the schema that is there now.
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
    /// The same for `work` that only reads, and may run twice: when the schema has changed since its
    /// statement was prepared, the statement is prepared anew.
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
