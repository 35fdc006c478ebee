//! The pool: connections are opened when somebody needs one, are lent to one request at a time, and are closed unless
//! the work on them has ended well.

use std::time::Duration;

use deadpool::managed::{self, Metrics, Object, PoolError, RecycleError, RecycleResult};
use sqlx::{ConnectOptions, Connection, PgConnection, postgres::PgConnectOptions};
use tokio::time::{Instant, timeout_at};

use crate::error::Error;

/// A connection that was lent so short a time ago is lent again without a question.
const FRESH: Duration = Duration::from_millis(500);

/// What deadpool has to know about connections: how to open one, and which may be lent again.
struct Connections(PgConnectOptions);

impl managed::Manager for Connections {
    /// A place in the pool, with the connection in it unless that is lent, or was closed.
    type Type = Option<PgConnection>;
    type Error = sqlx::Error;

    async fn create(&self) -> sqlx::Result<Option<PgConnection>> {
        self.0.connect().await.map(Some)
    }

    async fn recycle(
        &self,
        place: &mut Option<PgConnection>,
        metrics: &Metrics,
    ) -> RecycleResult<sqlx::Error> {
        let Some(connection) = place else {
            return Err(RecycleError::message("the connection was closed"));
        };
        if metrics.last_used() > FRESH {
            connection.ping().await?;
        }
        Ok(())
    }
}

/// A fixed number of places.
pub struct Pool {
    places: managed::Pool<Connections>,
}

impl Pool {
    /// Opens nothing yet: each connection is opened when a request first needs it.
    #[expect(
        clippy::expect_used,
        reason = "this fails only where deadpool keeps time limits and has no runtime for them"
    )]
    pub fn new(options: PgConnectOptions, size: usize) -> Pool {
        let places = managed::Pool::builder(Connections(options))
            .max_size(size)
            .build()
            .expect("deadpool keeps no time limits here");
        Pool { places }
    }

    /// Lends a connection.
    ///
    /// # Errors
    /// There is no connection before the deadline, or none can be opened.
    pub async fn lend(&self, deadline: Instant) -> Result<Lent, Error> {
        let Ok(place) = timeout_at(deadline, self.places.get()).await else {
            // One connection was asked in vain, perhaps. Those that were idle as long need not be.
            self.places.retain(|_, metrics| metrics.last_used() < FRESH);
            return Err(Error::Unavailable(
                "no connection within the time limit".into(),
            ));
        };
        let mut place = place.map_err(|error| match error {
            PoolError::Backend(error) => Error::Unavailable(error.into()),
            other => Error::Unavailable(other.into()),
        })?;
        let connection = place.take();
        let connection =
            connection.ok_or_else(|| Error::Unavailable("a place without a connection".into()))?;
        Ok(Lent { connection, place })
    }
}

/// A connection that is lent, and the place that it was taken from.
///
/// Dropped as it is, it closes the connection and then frees the place: an answer may still be on
/// its way, or half a transaction open, and the next request must not get either.
pub struct Lent {
    pub connection: PgConnection,
    place: Object<Connections>,
}

impl Lent {
    /// Puts the connection back into its place, for the next request. Nothing may be under way on it.
    pub fn give_back(mut self) {
        *self.place = Some(self.connection);
    }
}
