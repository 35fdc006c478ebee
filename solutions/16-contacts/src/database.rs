//! The database: the connections that all requests share, and how long a request may wait for them.

use std::time::Duration;

use log::LevelFilter;
use sqlx::{ConnectOptions, Connection, PgConnection};
use tokio::time::timeout;

use crate::{
    error::{Error, is_stale_plan},
    pool::Pool,
    settings::DatabaseSettings,
};

// ANCHOR: database
/// A pool of connections, and a time limit for what is done on each.
pub struct Database {
    pool: Pool,
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
            .options([("statement_timeout", statement_timeout)])
            // No statement outlives the limit, so none is slow.
            .log_slow_statements(LevelFilter::Off, limit);
        let size = settings.pool_size.get().into();
        let pool = Pool::new(options, size, limit);
        Database { pool, limit }
    }

    /// Lends a connection to `work`, and takes it back when `work` has ended well. After anything
    /// else it is closed.
    ///
    /// # Errors
    /// There is no connection within the time limit, `work` takes longer than the time limit, or
    /// `work` fails.
    pub async fn run<T>(
        &self,
        work: impl AsyncFnOnce(&mut PgConnection) -> sqlx::Result<T>,
    ) -> Result<T, Error> {
        let mut lent = self.pool.lend().await?;
        let Ok(result) = timeout(self.limit, work(&mut lent.connection)).await else {
            return Err(self.no_answer());
        };
        let result = result?;
        lent.give_back();
        Ok(result)
    }

    /// The same for `work` that only reads, and may run twice: when the schema has changed since its statement was prepared, the
    /// statement is prepared anew. A connection on which the database has only refused a statement can be lent again.
    ///
    /// # Errors
    /// As for [`Database::run`].
    pub async fn read<T>(
        &self,
        work: impl AsyncFnOnce(&mut PgConnection) -> sqlx::Result<T> + Copy,
    ) -> Result<T, Error> {
        let mut lent = self.pool.lend().await?;
        let connection = &mut lent.connection;
        let reading = async {
            match work(connection).await {
                Err(error) if is_stale_plan(&error) => {
                    connection.clear_cached_statements().await?;
                    work(connection).await
                }
                result => result,
            }
        };
        let Ok(result) = timeout(self.limit, reading).await else {
            return Err(self.no_answer());
        };
        let is_usable = match &result {
            Ok(_) => true,
            Err(sqlx::Error::Database(_)) => {
                let asked = timeout(self.limit, lent.connection.ping()).await;
                matches!(asked, Ok(Ok(())))
            }
            Err(_) => false,
        };
        if is_usable {
            lent.give_back();
        }
        Ok(result?)
    }

    /// Asks the database anything, to see whether it answers.
    ///
    /// # Errors
    /// It does not.
    pub async fn ping(&self) -> Result<(), Error> {
        self.read(async |connection| sqlx::query("SELECT 1").execute(connection).await)
            .await?;
        Ok(())
    }

    fn no_answer(&self) -> Error {
        let limit = self.limit.as_millis();
        Error::Unavailable(format!("no answer within {limit} ms").into())
    }
}
// ANCHOR_END: database
