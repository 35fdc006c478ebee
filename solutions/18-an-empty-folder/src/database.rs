//! The database: the connections that all requests share, and how long a request may wait for them.

use std::{sync::Arc, time::Duration};

use sqlx::{ConnectOptions, Connection, PgConnection};
use tokio::{
    sync::Semaphore,
    time::{Instant, timeout, timeout_at},
};

use crate::{error::Error, outage::is_stale_plan, pool::Pool, schema::Schema, settings::Settings};

/// What the answer of a database that gives up has to come back.
const ON_ITS_WAY: Duration = Duration::from_millis(50);

/// A pool of connections, and a time limit for what is done on each.
#[derive(Clone)]
pub struct Database {
    pool: Arc<Pool>,
    schema: Schema,
    limit: Duration,
    /// Half of the connections, since those who write wait for each other: others shall be able to read meanwhile.
    for_writing: Arc<Semaphore>,
}

impl Database {
    /// Starts to bring the tables up to date, and waits for nothing: the service starts without a database.
    pub fn new(settings: &Settings) -> Database {
        let limit = settings.database_timeout;
        // The database gives up shortly before we do. Otherwise it would go on with queries that nobody
        // waits for, on connections that the pool no longer counts.
        let statement_timeout = (limit - ON_ITS_WAY).as_millis();
        let options = settings
            .database
            .clone()
            .options([("statement_timeout", statement_timeout)])
            .disable_statement_logging();
        Database {
            pool: Arc::new(Pool::new(options, settings.pool_size)),
            schema: Schema::migrate_in_background(settings.database.clone()),
            limit,
            for_writing: Arc::new(Semaphore::new(settings.pool_size.div_ceil(2))),
        }
    }

    // ANCHOR: read
    /// Lends a connection to `work` that only reads, and may run twice: when the schema has changed since its statement was
    /// prepared, the statement is prepared anew.
    ///
    /// # Errors
    /// As for [`Database::write`].
    pub async fn read<T>(
        &self,
        work: impl AsyncFnOnce(&mut PgConnection) -> sqlx::Result<T> + Copy,
    ) -> Result<T, Error> {
        let read = async |connection: &mut PgConnection| match work(connection).await {
            Err(error) if is_stale_plan(&error) => {
                connection.clear_cached_statements().await?;
                work(connection).await
            }
            result => result,
        };
        self.run(Instant::now() + self.limit, read).await
    }
    // ANCHOR_END: read

    // ANCHOR: write
    /// Lends one of the connections for writing to `work`.
    ///
    /// # Errors
    /// The tables are not there yet, there is no connection within the time limit, `work` takes longer than the time limit, or
    /// `work` fails.
    pub async fn write<T>(
        &self,
        work: impl AsyncFnOnce(&mut PgConnection) -> sqlx::Result<T>,
    ) -> Result<T, Error> {
        let deadline = Instant::now() + self.limit;
        let Ok(_turn) = timeout_at(deadline, self.for_writing.acquire()).await else {
            return Err(Error::Unavailable("others write for too long".into()));
        };
        self.run(deadline, work).await
    }
    // ANCHOR_END: write

    /// Lends a connection that comes before the deadline, and takes it back if it can be lent again.
    async fn run<T>(
        &self,
        deadline: Instant,
        work: impl AsyncFnOnce(&mut PgConnection) -> sqlx::Result<T>,
    ) -> Result<T, Error> {
        if !self.schema.is_up_to_date() {
            return Err(Error::OldSchema);
        }
        let mut lent = self.pool.lend(deadline).await?;
        let Ok(result) = timeout(self.limit, work(&mut lent.connection)).await else {
            return Err(Error::Unavailable("no answer within the time limit".into()));
        };
        let is_usable = match &result {
            Ok(_) => true,
            Err(error) if is_stale_plan(error) => false,
            // The database has answered, so it can be asked: half a transaction is rolled back by that.
            Err(sqlx::Error::Database(_)) => {
                let asked = timeout(ON_ITS_WAY, lent.connection.ping()).await;
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
            .await
            .map(drop)
    }
}
