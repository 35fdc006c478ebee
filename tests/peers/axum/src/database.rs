//! The database: the connection pool that all requests share, and its time limits.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use opentelemetry::{KeyValue, global, metrics::Meter, trace::Status};
use sqlx::{
    ConnectOptions, Connection, PgConnection, PgPool, Postgres, pool::PoolConnection,
    postgres::PgPoolOptions,
};
use tokio::time::timeout;
use tracing::{Instrument, Span, info_span};
use tracing_opentelemetry::OpenTelemetrySpanExt;

use crate::{
    error::{Error, is_stale_plan},
    settings::Settings,
};

/// A connection pool, and a time limit for the work on each connection.
#[derive(Clone)]
pub struct Database {
    pool: PgPool,
    /// The number of requests that wait for a connection, which sqlx doesn't expose.
    waiting: Arc<AtomicI64>,
    limit: Duration,
}

impl Database {
    /// Opens no connection yet. The pool opens connections on demand, so the service can start
    /// while the database is down.
    pub fn new(settings: &Settings) -> Database {
        let limit = settings.database_timeout;
        // The database cancels a query when our time limit expires. Otherwise the database would
        // keep running queries whose client has gone, on connections the pool no longer counts.
        let statement_timeout = limit.as_millis();
        let options = settings
            .database
            .clone()
            .options([("statement_timeout", statement_timeout)])
            // Slow statements aren't logged: exports are always slow, and all others have a time limit.
            .disable_statement_logging();
        // The pool pings a connection before lending it, and again when it is returned. Each ping
        // costs a round trip; `test_before_acquire` controls the first one.
        let pool = PgPoolOptions::new()
            .max_connections(settings.database_pool_size.get().into())
            .acquire_timeout(limit)
            .connect_lazy_with(options);
        let waiting = Arc::default();
        measure(&pool, &waiting, &global::meter("records"));
        Database {
            pool,
            waiting,
            limit,
        }
    }

    /// Lends a connection to `work`, and returns it to the pool. `summary` describes the work
    /// in two or three words; nothing else about the work is exposed.
    ///
    /// # Errors
    /// No connection becomes free within the time limit, `work` exceeds the time limit, or
    /// `work` fails.
    pub async fn run<T>(
        &self,
        summary: &'static str,
        work: impl AsyncFnOnce(&mut PgConnection) -> sqlx::Result<T>,
    ) -> Result<T, Error> {
        let mut connection = self.lend().await?;
        let span = query_span(summary);
        let worked = timeout(self.limit, work(&mut connection).instrument(span.clone()));
        let worked = worked.await;
        if !matches!(worked, Ok(Ok(_))) {
            span.set_status(Status::error(""));
        }
        match worked {
            Ok(result) => {
                if result.as_ref().is_err_and(is_stale_plan) {
                    // Close this connection: a new one prepares its statements for the current schema.
                    connection.close_on_drop();
                }
                Ok(result?)
            }
            Err(_elapsed) => {
                // A late answer may still arrive. The next request must not mistake that answer for its own.
                connection.close_on_drop();
                Err(self.no_answer())
            }
        }
    }

    /// Like [`Database::run`], but for `work` that only reads, so a retry is safe: if the
    /// schema has changed since a statement was prepared, prepares it again and retries `work`.
    ///
    /// # Errors
    /// The same as for [`Database::run`].
    pub async fn read<T>(
        &self,
        summary: &'static str,
        work: impl AsyncFnOnce(&mut PgConnection) -> sqlx::Result<T> + Copy,
    ) -> Result<T, Error> {
        self.run(summary, async |connection| match work(connection).await {
            Err(error) if is_stale_plan(&error) => {
                connection.clear_cached_statements().await?;
                work(connection).await
            }
            result => result,
        })
        .await
    }

    /// Checks that the database answers.
    ///
    /// # Errors
    /// The database doesn't answer.
    pub async fn ping(&self) -> Result<(), Error> {
        self.read("SELECT", async |connection| {
            sqlx::query("SELECT 1").execute(connection).await
        })
        .await?;
        Ok(())
    }

    /// Lends a connection without a time limit, for a query with many rows. The connection is
    /// closed afterwards: before reusing it, the pool would have to read all remaining rows.
    ///
    /// # Errors
    /// The acquire timeout expires, or the database doesn't answer.
    pub async fn connection_for_many_rows(&self) -> Result<PoolConnection<Postgres>, Error> {
        let mut connection = self.lend().await?;
        connection.close_on_drop();
        let no_limit = sqlx::query("SET statement_timeout = 0").execute(&mut *connection);
        match timeout(self.limit, no_limit).await {
            Ok(result) => result?,
            Err(_elapsed) => return Err(self.no_answer()),
        };
        Ok(connection)
    }

    /// Takes a connection from the pool. Waiting for a free one has its own span.
    async fn lend(&self) -> Result<PoolConnection<Postgres>, Error> {
        let _waiting = Waiting::new(&self.waiting);
        let lent = self.pool.acquire();
        Ok(lent.instrument(info_span!("pool.acquire")).await?)
    }

    fn no_answer(&self) -> Error {
        let limit = self.limit.as_millis();
        Error::Unavailable(format!("no answer within {limit} ms").into())
    }
}

/// The span of a query, without the SQL: it can be long, and others can read the telemetry.
pub fn query_span(summary: &'static str) -> Span {
    info_span!(
        "query",
        otel.name = summary,
        otel.kind = "client",
        db.system.name = "postgresql",
        db.query.summary = summary,
    )
}

/// A guard that counts a request as waiting, until it gets a connection or gives up.
struct Waiting<'a>(&'a AtomicI64);

impl Waiting<'_> {
    fn new(waiting: &AtomicI64) -> Waiting<'_> {
        waiting.fetch_add(1, Ordering::Relaxed);
        Waiting(waiting)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Registers the metrics of the pool: its connections, their limit, and the waiting requests.
fn measure(pool: &PgPool, waiting: &Arc<AtomicI64>, meter: &Meter) {
    let of_the_pool = || KeyValue::new("db.client.connection.pool.name", "records");
    let connections = pool.clone();
    meter
        .i64_observable_up_down_counter("db.client.connection.count")
        .with_unit("{connection}")
        .with_callback(move |seen| {
            let idle = i64::try_from(connections.num_idle()).unwrap_or(i64::MAX);
            let used = i64::from(connections.size()) - idle;
            for (state, count) in [("idle", idle), ("used", used.max(0))] {
                let state = KeyValue::new("db.client.connection.state", state);
                seen.observe(count, &[of_the_pool(), state]);
            }
        })
        .build();
    let requests = Arc::clone(waiting);
    meter
        .i64_observable_up_down_counter("db.client.connection.pending_requests")
        .with_unit("{request}")
        .with_callback(move |seen| {
            seen.observe(requests.load(Ordering::Relaxed), &[of_the_pool()]);
        })
        .build();
    let max = i64::from(pool.options().get_max_connections());
    meter
        .i64_observable_up_down_counter("db.client.connection.max")
        .with_unit("{connection}")
        .with_callback(move |seen| seen.observe(max, &[of_the_pool()]))
        .build();
}
