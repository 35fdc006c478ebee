//! The database: the connection pool that all requests share, and its time limits.

use std::{sync::Arc, time::Duration};

use sqlx::{ConnectOptions, Connection, PgConnection};
use tokio::{
    sync::Semaphore,
    time::{Instant, timeout, timeout_at},
};

use crate::{error::Error, outage::is_stale_plan, pool::Pool, schema::Schema, settings::Settings};

/// The time allowed for the database's error to arrive after the statement timeout.
const ON_ITS_WAY: Duration = Duration::from_millis(50);

/// A connection pool, and a time limit for the work on each connection.
#[derive(Clone)]
pub struct Database {
    pool: Arc<Pool>,
    schema: Schema,
    limit: Duration,
    /// Permits for half of the connections: writers block each other, and must not starve readers.
    for_writing: Arc<Semaphore>,
}

impl Database {
    /// Starts the migrations in the background, so that the service can start without a database.
    pub fn new(settings: &Settings) -> Database {
        let limit = settings.database_timeout;
        // The database times out shortly before we do. Otherwise it would keep running queries that
        // nobody waits for, on connections that the pool no longer counts.
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
    /// Lends a connection to `work`, which must only read, because it can run twice: if the schema
    /// has changed since its statement was prepared, `work` runs again and prepares it anew.
    ///
    /// # Errors
    /// The same as for [`Database::write`].
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
    /// Lends a connection to `work`, which may write. Writers get at most half of the connections.
    ///
    /// # Errors
    /// The schema isn't up to date yet, no connection becomes free within the time limit, `work`
    /// exceeds the time limit, or `work` fails.
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

    /// Waits until the deadline for a connection, lends it, and takes it back if it's still usable.
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
    /// The database doesn't answer.
    pub async fn ping(&self) -> Result<(), Error> {
        self.read(async |connection| sqlx::query("SELECT 1").execute(connection).await)
            .await
            .map(drop)
    }
}

/// Whether the connection can be reused. If `work` has left a transaction open, the ping also
/// rolls it back: sqlx sends a pending rollback together with the next command.
async fn is_good_after(error: &sqlx::Error, connection: &mut PgConnection) -> bool {
    let is_an_answer = matches!(error, sqlx::Error::Database(_)) && !is_stale_plan(error);
    is_an_answer && connection.ping().await.is_ok()
}
