//! `GET /records/export`: streams all records, one per line, while the database reads them.

use std::{convert::Infallible, sync::Arc, time::Duration};

use axum::{body::Body, extract::State, http::header::CONTENT_TYPE, response::IntoResponse};
use futures_util::{Stream, StreamExt, TryStreamExt, stream};
use serde::Serialize;
use sqlx::{Postgres, pool::PoolConnection};
use tokio::{
    spawn,
    sync::{
        OwnedSemaphorePermit, Semaphore,
        mpsc::{self, Receiver, Sender, error::SendTimeoutError},
    },
    task::JoinHandle,
    time::timeout,
};
use tracing::{Instrument, Span, warn};

use crate::{
    caller::{Allowed, Read},
    database::{Database, query_span},
    error::Error,
    extract::After,
    records::Record,
    settings::Settings,
};

/// The approximate number of bytes that are sent at once.
const CHUNK: usize = 64 * 1024;

/// The limits for exports: how many can run, as each holds a connection, and for how long.
#[derive(Clone)]
pub struct Exports {
    permits: Arc<Semaphore>,
    database_timeout: Duration,
    client_timeout: Duration,
    deadline: Duration,
}

impl Exports {
    /// Exports get half of the connections, so that the other half stays free for reads.
    pub fn new(settings: &Settings) -> Exports {
        let permits = (settings.database_pool_size.get() / 2).max(1);
        Exports {
            permits: Arc::new(Semaphore::new(permits.into())),
            database_timeout: settings.database_timeout,
            client_timeout: settings.export_timeout,
            deadline: settings.export_deadline,
        }
    }

    /// Waits for a permit to export. Dropping the permit releases it.
    async fn permit(&self) -> Result<OwnedSemaphorePermit, Error> {
        let permit = Arc::clone(&self.permits).acquire_owned();
        match timeout(self.database_timeout, permit).await {
            Ok(Ok(permit)) => Ok(permit),
            _ => Err(Error::TooManyExports),
        }
    }

    /// The handle to the client of one export, and the receiver for the chunks to be sent.
    fn client(&self) -> (Client, Receiver<Vec<u8>>) {
        let (chunks, handed_over) = mpsc::channel(1);
        let timeout = self.client_timeout;
        (Client { chunks, timeout }, handed_over)
    }
}

/// Responds with the records after an id, or all of them, ordered by id; 503 if the
/// database does not answer or too many exports are already running.
///
/// The rows are read in a task of their own. The task waits while the client is slow, so
/// only a few chunks are in memory. It gives up at the deadline, or if the client takes no
/// data for too long. When the client disconnects, hyper drops the body, and with it
/// `chunks`: the task then ends, and so does its query.
pub async fn export(
    _caller: Allowed<Read>,
    After(after): After,
    State(exports): State<Exports>,
    State(database): State<Database>,
) -> Result<impl IntoResponse, Error> {
    let permit = exports.permit().await?;
    let connection = database.connection_for_many_rows().await?;
    let (client, chunks) = exports.client();
    let (database_timeout, deadline) = (exports.database_timeout, exports.deadline);
    let reading = async move {
        let _permit = permit;
        let read = read(connection, after, &client, database_timeout);
        let read = read.instrument(query_span("SELECT records"));
        match timeout(deadline, read).await {
            Ok(result) => result,
            Err(_elapsed) => Err(Error::ClientTooSlow),
        }
    };
    let task = spawn(reading.in_current_span());
    let mut reading = Reading {
        chunks,
        task: Some(task),
    };

    // Wait for the first rows: an error can set the status only before the response has started.
    let first = reading.next().await.transpose()?;
    // hyper polls for the rest only after the request's span has been exited.
    let span = Span::current();
    let rest = stream::unfold((reading, span), async |(mut reading, span)| {
        let chunk = reading.next().await?;
        let chunk = chunk.unwrap_or_else(|error| span.in_scope(|| last_line(&error)));
        Some((chunk, (reading, span)))
    });
    let lines = stream::iter(first).chain(rest).map(Ok::<_, Infallible>);
    let nd_json = [(CONTENT_TYPE, "application/x-ndjson")];
    Ok((nd_json, Body::from_stream(lines)))
}

/// The last line of a failed export. The status has already been sent,
/// so the error can be reported only in the body.
fn last_line(error: &Error) -> Vec<u8> {
    warn!("an export has ended early: {}", error.with_causes());
    let mut line = Vec::new();
    match add_line(&mut line, &error.problem()) {
        Ok(()) => line,
        Err(_cannot_be_written) => Vec::new(),
    }
}

/// The response's handle to the task that reads the rows.
struct Reading {
    chunks: Receiver<Vec<u8>>,
    /// `None` once the task's result has been reported.
    task: Option<JoinHandle<Result<(), Error>>>,
}

impl Reading {
    /// The next lines, or the error that ended the export; `None` after the last lines. The task's
    /// handle keeps the error, so the task can end long before a slow client has read all lines.
    async fn next(&mut self) -> Option<Result<Vec<u8>, Error>> {
        if let Some(lines) = self.chunks.recv().await {
            return Some(Ok(lines));
        }
        match self.task.take()?.await {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(Err(error)),
            Err(_panicked) => Some(Err(Error::Panicked)),
        }
    }
}

/// The reading task's handle to the client.
struct Client {
    chunks: Sender<Vec<u8>>,
    timeout: Duration,
}

impl Client {
    /// Hands over some lines, as soon as the previous lines are on their way to the client. Returns
    /// false if the client has disconnected.
    ///
    /// # Errors
    /// The client has not taken the previous lines in time.
    async fn takes(&self, lines: Vec<u8>) -> Result<bool, Error> {
        match self.chunks.send_timeout(lines, self.timeout).await {
            Ok(()) => Ok(true),
            Err(SendTimeoutError::Closed(_)) => Ok(false),
            Err(SendTimeoutError::Timeout(_)) => Err(Error::ClientTooSlow),
        }
    }
}

/// Reads and hands over the records after this id, until the client has all or disconnects.
///
/// # Errors
/// The database doesn't return rows in time, or the client doesn't take them in time.
async fn read(
    mut connection: PoolConnection<Postgres>,
    after: i64,
    client: &Client,
    database_timeout: Duration,
) -> Result<(), Error> {
    let mut records = sqlx::query_as(
        "SELECT id, value, odd, divisible_by_3, visited FROM records WHERE id > $1 ORDER BY id",
    )
    .bind(after)
    .persistent(false)
    .fetch(&mut *connection);
    loop {
        let Ok(lines) = timeout(database_timeout, next_lines(&mut records)).await else {
            return Err(Error::Unavailable("the next rows do not come".into()));
        };
        let lines = lines?;
        if lines.is_empty() || !client.takes(lines).await? {
            return Ok(());
        }
    }
}

/// The lines for the next records, enough for one chunk; empty when all records have been read.
async fn next_lines(
    records: &mut (impl Stream<Item = sqlx::Result<Record>> + Unpin),
) -> Result<Vec<u8>, Error> {
    let mut lines = Vec::with_capacity(CHUNK);
    while lines.len() < CHUNK
        && let Some(record) = records.try_next().await?
    {
        add_line(&mut lines, &record)?;
    }
    Ok(lines)
}

/// Appends a value as JSON without line breaks, followed by a line break.
fn add_line(lines: &mut Vec<u8>, value: &impl Serialize) -> serde_json::Result<()> {
    serde_json::to_writer(&mut *lines, value)?;
    lines.push(b'\n');
    Ok(())
}
