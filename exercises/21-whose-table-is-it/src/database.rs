//! The database: the connection pool that all requests share, and its time limits.

use std::time::Duration;

use log::LevelFilter;
use rocket::tokio::time::timeout;
use sqlx::{ConnectOptions, Connection, PgConnection};

use crate::{
    error::{Error, is_stale_plan},
    pool::{Lent, Pool},
    settings::DatabaseSettings,
};

/// The time allowed for the database's error to arrive after the statement timeout.
const ON_ITS_WAY: Duration = Duration::from_millis(50);

// ANCHOR: database
/// A connection pool, and a time limit for the work on each connection.
pub struct Database {
    pool: Pool,
    limit: Duration,
}

impl Database {
    /// Opens no connection yet. The pool opens connections on demand, so the service can start
    /// while the database is down.
    pub fn new(settings: &DatabaseSettings) -> Database {
        let limit = settings.timeout;
        // The database cancels a query shortly before we give up, so the query has ended and the
        // connection is still good. Otherwise, queries of disconnected clients would keep running.
        let statement_timeout = (limit - ON_ITS_WAY).as_millis();
        let options = settings
            .url
            .clone()
            .options([("statement_timeout", statement_timeout)])
            // Slow statements aren't logged: exports are always slow, and all others have a time limit.
            .log_slow_statements(LevelFilter::Off, limit);
        let size = settings.pool_size.get().into();
        let pool = Pool::new(options, size, limit);
        Database { pool, limit }
    }

    /// Lends a connection to `work`. Returns the connection to the pool if it is still good, and
    /// closes it otherwise.
    ///
    /// # Errors
    /// No connection becomes available within the time limit, `work` takes longer than the time
    /// limit, or `work` fails.
    pub async fn run<T>(
        &self,
        work: impl AsyncFnOnce(&mut PgConnection) -> sqlx::Result<T>,
    ) -> Result<T, Error> {
        let mut lent = self.pool.lend().await?;
        let work = async {
            let result = work(&mut lent.connection).await;
            let is_good = match &result {
                Ok(_) => true,
                Err(error) => is_good_after(error, &mut lent.connection).await,
            };
            (result, is_good)
        };
        let Ok((result, is_good)) = timeout(self.limit, work).await else {
            return Err(self.no_answer());
        };
        if is_good {
            lent.give_back();
        }
        Ok(result?)
    }

    // ANCHOR: read
    /// Like [`Database::run`], but for `work` that only reads, so a retry is safe: if the
    /// schema has changed since a statement was prepared, prepares it again and retries `work`.
    ///
    /// # Errors
    /// The same as for [`Database::run`].
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

    /// Checks that the database answers.
    ///
    /// # Errors
    /// The database doesn't answer.
    pub async fn ping(&self) -> Result<(), Error> {
        self.read(async |connection| sqlx::query("SELECT 1").execute(connection).await)
            .await?;
        Ok(())
    }

    /// Lends a connection without a time limit, for a query with many rows. The connection is
    /// closed afterwards: reusing it would require reading all remaining rows first, only to
    /// discard them.
    ///
    /// # Errors
    /// No connection becomes available within the pool's limit, or the database doesn't answer.
    pub async fn connection_for_many_rows(&self) -> Result<Lent, Error> {
        let mut lent = self.pool.lend().await?;
        let no_limit = sqlx::query("SET statement_timeout = 0").execute(&mut lent.connection);
        match timeout(self.limit, no_limit).await {
            Ok(result) => result?,
            Err(_elapsed) => return Err(self.no_answer()),
        };
        Ok(lent)
    }

    fn no_answer(&self) -> Error {
        let limit = self.limit.as_millis();
        Error::Unavailable(format!("no answer within {limit} ms").into())
    }
}

/// Whether the connection is still good. The ping also rolls back a transaction that `work` has
/// left open: sqlx sends the pending rollback along with the next command.
async fn is_good_after(error: &sqlx::Error, connection: &mut PgConnection) -> bool {
    let is_an_answer = matches!(error, sqlx::Error::Database(_)) && !is_stale_plan(error);
    is_an_answer && connection.ping().await.is_ok()
}
// ANCHOR_END: database
