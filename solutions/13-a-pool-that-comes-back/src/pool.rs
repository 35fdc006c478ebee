//! The pool: connections are opened when somebody needs one, are lent to one request at a time, and are closed unless
//! the work on them has ended well.

use std::{
    sync::LazyLock,
    time::{Duration, Instant},
};

use deadpool::managed::{self, Metrics, Object, PoolError, QueueMode, RecycleError, RecycleResult};
use rocket::tokio::time::{sleep, timeout};
use sqlx::{ConnectOptions, Connection, PgConnection, postgres::PgConnectOptions};
use tracing::warn;

use crate::{error::Error, rate_limit::RateLimit};

/// A connection that was lent so short a time ago is lent again without a question.
const FRESH: Duration = Duration::from_millis(500);

/// A connection that is older is not lent again: its session has grown in the server, and its address may belong to another one now.
const MAX_AGE: Duration = Duration::from_secs(30 * 60);

// ANCHOR: manager
/// What deadpool has to know about connections: how to open one, and which may be lent again.
struct Connections {
    options: PgConnectOptions,
}

impl managed::Manager for Connections {
    /// A place in the pool, with the connection in it unless that is lent, or was closed.
    type Type = Option<PgConnection>;
    type Error = sqlx::Error;

    async fn create(&self) -> sqlx::Result<Option<PgConnection>> {
        Ok(Some(open(&self.options).await?))
    }

    /// After an error deadpool drops the place, and tries the next one or creates one.
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
/// All requests of an outage try again and again, so one line per second tells enough.
static REFUSALS: LazyLock<RateLimit<()>> = LazyLock::new(|| RateLimit::new(Duration::from_secs(1)));

/// Opens a connection. A server that is being restarted refuses for a moment, so this tries again until the request gives up. The
/// request then knows only how long it has waited; the reason is logged here.
async fn open(options: &PgConnectOptions) -> sqlx::Result<PgConnection> {
    const PAUSE: Duration = Duration::from_millis(50);

    loop {
        match options.connect().await {
            Err(error) if may_pass(&error) => {
                if let Some(suppressed) = REFUSALS.admit((), Instant::now()) {
                    warn!(suppressed, "no connection, trying again: {error}");
                }
                sleep(PAUSE).await;
            }
            opened => return opened,
        }
    }
}

/// Whether there is nobody at the address, or a server that stops or starts.
fn may_pass(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_) => true,
        sqlx::Error::Database(error) => error.code().as_deref() == Some("57P03"),
        _ => false,
    }
}
// ANCHOR_END: open

// ANCHOR: pool
/// A fixed number of places, and how long a request waits for the connection in one of them.
pub struct Pool {
    places: managed::Pool<Connections>,
    limit: Duration,
}

impl Pool {
    /// Opens nothing yet: each connection is opened when a request first needs it.
    #[expect(
        clippy::expect_used,
        reason = "this fails only where deadpool keeps time limits and has no runtime for them"
    )]
    pub fn new(options: PgConnectOptions, size: usize, limit: Duration) -> Pool {
        let places = managed::Pool::builder(Connections { options })
            .max_size(size)
            // The one that was used last is lent next: it is fresh.
            .queue_mode(QueueMode::Lifo)
            .build()
            .expect("deadpool keeps no time limits here");
        Pool { places, limit }
    }

    /// Lends a connection. One time limit covers all of it: waiting for a place, asking the
    /// connections that have been idle, opening a new one.
    ///
    /// # Errors
    /// There is no connection within the time limit, or none can be opened.
    pub async fn lend(&self) -> Result<Lent, Error> {
        let Ok(place) = timeout(self.limit, self.places.get()).await else {
            // One connection was asked in vain, perhaps. Those that were idle as long need not be.
            self.places.retain(|_, metrics| metrics.last_used() < FRESH);
            let limit = self.limit.as_millis();
            return Err(Error::Unavailable(
                format!("no connection within {limit} ms").into(),
            ));
        };
        let mut place = place?;
        match place.take() {
            Some(connection) => Ok(Lent { connection, place }),
            None => Err(Error::Unavailable("a place without a connection".into())),
        }
    }
}
// ANCHOR_END: pool

// ANCHOR: lent
/// A connection that is lent, and the place that it was taken from.
///
/// Dropped as it is, it closes the connection and then frees the place: an answer may still be on
/// its way, or half a transaction open, and the next request must not get either. So a time limit, a
/// `?` and a panic need no further care.
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
// ANCHOR_END: lent

// ANCHOR: from-pool
/// Tells why there is no connection: the database has refused one, or something else is in the way.
impl From<PoolError<sqlx::Error>> for Error {
    fn from(error: PoolError<sqlx::Error>) -> Error {
        match error {
            PoolError::Backend(error) => error.into(),
            other => Error::Unavailable(other.into()),
        }
    }
}
// ANCHOR_END: from-pool
