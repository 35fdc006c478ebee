//! The database: the connections that all requests share, and how long a request may wait for them.

use std::{sync::Arc, time::Duration};

use sqlx::{ConnectOptions, PgConnection};
use tokio::time::timeout;

use crate::{error::Error, pool::Pool, schema::Schema, settings::Settings};

/// What the answer of a database that gives up has to come back.
const ON_ITS_WAY: Duration = Duration::from_millis(50);

/// A pool of connections, and a time limit for what is done on each.
#[derive(Clone)]
pub struct Database {
    pool: Arc<Pool>,
    schema: Schema,
    limit: Duration,
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
            pool: Arc::new(Pool::new(options, settings.pool_size, limit)),
            schema: Schema::migrate_in_background(settings.database.clone()),
            limit,
        }
    }

    /// Lends a connection to `work`, and takes it back when `work` has ended well. After anything
    /// else it is closed.
    ///
    /// # Errors
    /// The tables are not there yet, there is no connection within the time limit, `work` takes longer
    /// than the time limit, or `work` fails.
    pub async fn run<T>(
        &self,
        work: impl AsyncFnOnce(&mut PgConnection) -> sqlx::Result<T>,
    ) -> Result<T, Error> {
        if !self.schema.is_up_to_date() {
            return Err(Error::Unavailable("the migrations have not run yet".into()));
        }
        let mut lent = self.pool.lend().await?;
        match timeout(self.limit, work(&mut lent.connection)).await {
            Ok(result) => {
                let result = result?;
                lent.give_back();
                Ok(result)
            }
            Err(_elapsed) => Err(Error::Unavailable("no answer within the time limit".into())),
        }
    }

    /// Asks the database anything, to see whether it answers.
    ///
    /// # Errors
    /// It does not.
    pub async fn ping(&self) -> Result<(), Error> {
        self.run(async |connection| sqlx::query("SELECT 1").execute(connection).await)
            .await
            .map(drop)
    }
}
