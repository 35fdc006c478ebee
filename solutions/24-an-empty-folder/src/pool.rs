//! The pool: connections are opened on demand, lent to one request at a time, and closed unless
//! the work on them has ended cleanly.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use deadpool::managed::{self, Metrics, Object, PoolError, QueueMode, RecycleError, RecycleResult};
use sqlx::{ConnectOptions, Connection, PgConnection, postgres::PgConnectOptions};
use tokio::{
    sync::Notify,
    time::{Instant, timeout, timeout_at},
};

use crate::error::Error;

/// A connection that was last used less than this long ago is lent again without a ping.
const FRESH: Duration = Duration::from_millis(500);

/// The maximum age of a connection: sessions use more memory over time, and servers can move.
const MAX_AGE: Duration = Duration::from_secs(30 * 60);

/// How long to wait before asking a full server for another connection.
const FULL: Duration = Duration::from_secs(1);

/// How long to wait for a returned connection, before the next attempt to get one.
const PAUSE: Duration = Duration::from_millis(50);

/// Tells deadpool how to open connections, and which of them can be reused.
struct Connections {
    options: PgConnectOptions,
    /// When the server last refused a connection because a connection limit was reached.
    refused: Mutex<Option<Instant>>,
}

impl managed::Manager for Connections {
    /// A slot of the pool; `None` if the connection is lent or closed, or was refused.
    type Type = Option<PgConnection>;
    type Error = sqlx::Error;

    async fn create(&self) -> sqlx::Result<Option<PgConnection>> {
        let refused = *self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        if refused.is_some_and(|refused| refused.elapsed() < FULL) {
            return Ok(None);
        }
        match self.options.connect().await {
            Err(error) if is_one_too_many(&error) => {
                *self.refused.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
                Ok(None)
            }
            opened => opened.map(Some),
        }
    }

    async fn recycle(
        &self,
        place: &mut Option<PgConnection>,
        metrics: &Metrics,
    ) -> RecycleResult<sqlx::Error> {
        let Some(connection) = place else {
            return Err(RecycleError::message("the connection was closed"));
        };
        if metrics.age() > MAX_AGE {
            return Err(RecycleError::message("the connection is old"));
        }
        if metrics.last_used() > FRESH {
            connection.ping().await?;
        }
        Ok(())
    }
}

/// Whether the server, the database or the user has reached its connection limit.
fn is_one_too_many(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(|error| error.code());
    code.as_deref() == Some("53300")
}

/// A fixed number of slots for connections.
pub struct Pool {
    places: managed::Pool<Connections>,
    given_back: Arc<Notify>,
}

impl Pool {
    /// Opens no connection yet: the pool opens connections on demand.
    #[expect(
        clippy::expect_used,
        reason = "this fails only where deadpool keeps time limits and has no runtime for them"
    )]
    pub fn new(options: PgConnectOptions, size: usize) -> Pool {
        let connections = Connections {
            options,
            refused: Mutex::default(),
        };
        let places = managed::Pool::builder(connections)
            .max_size(size)
            // Lends the most recently used connection first: it is the least likely to need a ping.
            .queue_mode(QueueMode::Lifo)
            .build()
            .expect("deadpool keeps no time limits here");
        Pool {
            places,
            given_back: Arc::default(),
        }
    }

    /// Lends a connection.
    ///
    /// # Errors
    /// No connection becomes available before the deadline, or opening one fails.
    pub async fn lend(&self, deadline: Instant) -> Result<Lent, Error> {
        let Ok(lent) = timeout_at(deadline, self.next()).await else {
            // A ping may have gone unanswered, so drop every connection that would need a ping.
            self.places.retain(|_, metrics| metrics.last_used() < FRESH);
            return Err(Error::Unavailable(
                "no connection within the time limit".into(),
            ));
        };
        lent.map_err(|error| match error {
            PoolError::Backend(error) => Error::Unavailable(error.into()),
            other => Error::Unavailable(other.into()),
        })
    }

    /// The next available connection. If the server refuses to open more, waits for a returned one.
    async fn next(&self) -> Result<Lent, PoolError<sqlx::Error>> {
        loop {
            let mut place = self.places.get().await?;
            if let Some(connection) = place.take() {
                let given_back = Arc::clone(&self.given_back);
                return Ok(Lent {
                    connection,
                    place,
                    given_back,
                });
            }
            drop(place);
            let _ = timeout(PAUSE, self.given_back.notified()).await;
        }
    }
}

/// A guard: a lent connection, and the slot of the pool that it was taken from.
///
/// Dropping the guard closes the connection, then frees the slot: a result may still be on its
/// way, or a transaction open, and the next request must not inherit either.
pub struct Lent {
    pub connection: PgConnection,
    place: Object<Connections>,
    given_back: Arc<Notify>,
}

impl Lent {
    /// Returns the connection to the pool, for the next request. Must not be called during a query.
    pub fn give_back(mut self) {
        *self.place = Some(self.connection);
        drop(self.place);
        self.given_back.notify_one();
    }
}
