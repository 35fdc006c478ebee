//! The database: the connections that all requests share, and how long a request may wait for them.

use std::{sync::Arc, time::Duration};

use sqlx::{ConnectOptions, Connection, PgConnection};
use tokio::{
    sync::Semaphore,
    time::{Instant, timeout, timeout_at},
};

use crate::{error::Error, outage::is_stale_plan, pool::Pool, schema::Schema, settings::Settings};

/// The time for an answer to arrive after the database has given up.
const ON_ITS_WAY: Duration = Duration::from_millis(50);

/// A pool of connections, and a time limit for the work on each.
#[derive(Clone)]
pub struct Database {
    pool: Arc<Pool>,
    schema: Schema,
    limit: Duration,
    /// Half of the connections. Writers wait for each other, and must leave connections for those who read.
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

    /// Lends a connection before the deadline, and returns it to the pool if it can be lent again.
    async fn run<T>(
        &self,
        deadline: Instant,
        work: impl AsyncFnOnce(&mut PgConnection) -> sqlx::Result<T>,
    ) -> Result<T, Error> {
        if !self.schema.is_up_to_date() {
            return Err(Error::OldSchema);
        }
        let mut lent = self.pool.lend(deadline).await?;
        let work = async {
            let result = work(&mut lent.connection).await;
            let is_good = match &result {
                Ok(_) => true,
                Err(error) => is_good_after(error, &mut lent.connection).await,
            };
            (result, is_good)
        };
        let Ok((result, is_good)) = timeout(self.limit, work).await else {
            return Err(Error::Unavailable("no answer within the time limit".into()));
        };
        if is_good {
            lent.give_back();
        }
        Ok(result?)
    }

    /// Checks that the database answers.
    ///
    /// # Errors
    /// It doesn't answer.
    pub async fn ping(&self) -> Result<(), Error> {
        self.read(async |connection| sqlx::query("SELECT 1").execute(connection).await)
            .await
            .map(drop)
    }
}

/// Whether the connection is still good. The ping ends a transaction that `work` has left open: sqlx sends the rollback
/// with whatever comes next.
async fn is_good_after(error: &sqlx::Error, connection: &mut PgConnection) -> bool {
    let is_an_answer = matches!(error, sqlx::Error::Database(_)) && !is_stale_plan(error);
    is_an_answer && connection.ping().await.is_ok()
}
