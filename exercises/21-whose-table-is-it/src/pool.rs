//! The pool: connections are opened on demand, lent to one request at a time, and closed unless
//! the work on them has ended cleanly.

use std::{
    sync::{Arc, LazyLock, Mutex, PoisonError},
    time::{Duration, Instant},
};

use deadpool::managed::{self, Metrics, Object, PoolError, QueueMode, RecycleError, RecycleResult};
use rocket::tokio::{
    sync::Notify,
    time::{sleep, timeout},
};
use sqlx::{ConnectOptions, Connection, PgConnection, postgres::PgConnectOptions};
use tracing::warn;

use crate::{error::Error, rate_limit::RateLimit};

/// A connection that was last used less than this long ago is lent again without a ping.
const FRESH: Duration = Duration::from_millis(500);

/// The maximum age of a connection: sessions use more memory over time, and servers can move.
const MAX_AGE: Duration = Duration::from_secs(30 * 60);

/// How long to wait before asking a full server for another connection.
const FULL: Duration = Duration::from_millis(200);

/// How long to wait before the next attempt to get a connection.
const PAUSE: Duration = Duration::from_millis(50);

// ANCHOR: manager
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
        self.open().await
    }

    /// After an error, deadpool discards the slot, and tries the next slot or creates one.
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
// ANCHOR_END: manager

// ANCHOR: open
/// During an outage every request retries, so one log line per second is enough.
static REFUSALS: LazyLock<RateLimit<()>> = LazyLock::new(|| RateLimit::new(Duration::from_secs(1)));

impl Connections {
    fn new(options: PgConnectOptions) -> Connections {
        let refused = Mutex::default();
        Connections { options, refused }
    }

    /// Opens a connection; `None` if the server is full. Retries until the request times out: a
    /// restarting server refuses only briefly. Logs errors, because the timeout hides them.
    async fn open(&self) -> sqlx::Result<Option<PgConnection>> {
        if self.server_is_full() {
            return Ok(None);
        }
        loop {
            let error = match self.options.connect().await {
                Err(error) if may_pass(&error) => error,
                opened => return opened.map(Some),
            };
            if let Some(suppressed) = REFUSALS.admit((), Instant::now()) {
                warn!(suppressed, "no connection, trying again: {error}");
            }
            if is_one_too_many(&error) {
                *self.refused.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
                return Ok(None);
            }
            sleep(PAUSE).await;
        }
    }

    /// Whether the server refused a connection so recently that asking again would only add load.
    fn server_is_full(&self) -> bool {
        let refused = *self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.is_some_and(|refused| refused.elapsed() < FULL)
    }
}

/// Whether the error may be transient: the server is unreachable, starting, stopping, or full.
fn may_pass(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_) => true,
        sqlx::Error::Database(database) => {
            database.code().as_deref() == Some("57P03") || is_one_too_many(error)
        }
        _ => false,
    }
}

/// Whether the server, the database or the user has reached its connection limit.
fn is_one_too_many(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(|error| error.code());
    code.as_deref() == Some("53300")
}
// ANCHOR_END: open

// ANCHOR: pool
/// A fixed number of slots, and the maximum time that a request waits for a connection.
pub struct Pool {
    places: managed::Pool<Connections>,
    given_back: Arc<Notify>,
    limit: Duration,
}

impl Pool {
    /// Opens no connection yet: the pool opens connections on demand.
    #[expect(
        clippy::expect_used,
        reason = "this fails only where deadpool keeps time limits and has no runtime for them"
    )]
    pub fn new(options: PgConnectOptions, size: usize, limit: Duration) -> Pool {
        let places = managed::Pool::builder(Connections::new(options))
            .max_size(size)
            // Lends the most recently used connection first: it is the least likely to need a ping.
            .queue_mode(QueueMode::Lifo)
            .build()
            .expect("deadpool keeps no time limits here");
        Pool {
            places,
            given_back: Arc::default(),
            limit,
        }
    }

    /// Lends a connection. One time limit covers everything: waiting for a slot, pinging the
    /// connections that have been idle, and opening a new one.
    ///
    /// # Errors
    /// No connection becomes available within the time limit, or none can be opened.
    pub async fn lend(&self) -> Result<Lent, Error> {
        let Ok(lent) = timeout(self.limit, self.next()).await else {
            // A ping may have gone unanswered, so drop every connection that would need a ping.
            self.places.retain(|_, metrics| metrics.last_used() < FRESH);
            let limit = self.limit.as_millis();
            return Err(Error::Unavailable(
                format!("no connection within {limit} ms").into(),
            ));
        };
        lent
    }

    /// The next available connection. If the server grants no more connections, waits until
    /// another request returns one.
    async fn next(&self) -> Result<Lent, Error> {
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
// ANCHOR_END: pool

// ANCHOR: lent
/// The guard of a lent connection: the connection, and the slot that it was taken from.
///
/// Dropping the guard closes the connection and then frees the slot: an answer may still be on
/// its way, or a transaction may be open, and neither must reach the next request. So a
/// timeout, a `?` or a panic needs no extra cleanup.
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
// ANCHOR_END: lent

// ANCHOR: from-pool
/// Distinguishes a connection that the database refused from any other failure of the pool.
impl From<PoolError<sqlx::Error>> for Error {
    fn from(error: PoolError<sqlx::Error>) -> Error {
        match error {
            PoolError::Backend(error) => error.into(),
            other => Error::Unavailable(other.into()),
        }
    }
}
// ANCHOR_END: from-pool
