//! `GET /records/export`: streams all records, one per line, while the database reads them.

use std::{sync::Arc, time::Duration};

use rocket::{
    State,
    form::{self, FromFormField, ValueField},
    futures::{Stream, TryStreamExt},
    get,
    http::ContentType,
    response::stream::ByteStream,
    serde::json::serde_json,
    tokio::{
        spawn,
        sync::{
            OwnedSemaphorePermit, Semaphore,
            mpsc::{self, Receiver, Sender, error::SendTimeoutError},
        },
        task::JoinHandle,
        time::timeout,
    },
};
use serde::Serialize;
use sqlx::{Postgres, pool::PoolConnection};
use tracing::{Instrument, Span, warn};

use crate::{
    api_key::ApiKey, causes::with_causes, database::Database, error::Error, record::Record,
    settings::Settings,
};

/// The approximate number of bytes that are sent at once.
const CHUNK: usize = 64 * 1024;

// ANCHOR: exports
/// Limits the number and duration of exports, because each export occupies a connection.
pub struct Exports {
    permits: Arc<Semaphore>,
    /// The maximum wait for a permit, and for the next rows.
    database_timeout: Duration,
    /// The maximum wait for the client to accept the next lines.
    client_timeout: Duration,
    /// The maximum duration of a whole export.
    deadline: Duration,
}

impl Exports {
    /// Exports get half of the connections, so that the other half stays free for reads.
    pub fn new(settings: &Settings) -> Exports {
        let permits = (settings.database.pool_size.get() / 2).max(1);
        Exports {
            permits: Arc::new(Semaphore::new(permits.into())),
            database_timeout: settings.database.timeout,
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
// ANCHOR_END: exports

// ANCHOR: after
/// The id after which an export begins. The default is lower than every id.
pub struct After(i64);

impl FromFormField<'_> for After {
    fn from_value(field: ValueField<'_>) -> form::Result<'_, After> {
        let id: i32 = field.value.parse()?;
        Ok(After(id.into()))
    }

    fn default() -> Option<After> {
        Some(After(i64::MIN))
    }
}
// ANCHOR_END: after

// ANCHOR: export
/// Streams the records after an id, or all of them, ordered by id; 503 if the database does not
/// answer, or too many exports are already running.
///
/// A separate task reads the rows, with backpressure: the task waits while the client is slow,
/// so there are never more than a few chunks in memory. The task gives up at the deadline, or
/// if the client takes no chunk for too long. When the client disconnects, Rocket drops the
/// stream and `chunks` with it, which ends the task and the task's query.
#[get("/records/export?<after>")]
pub async fn export(
    _key: ApiKey,
    after: form::Result<'_, After>,
    exports: &State<Exports>,
    database: &State<Database>,
) -> Result<(ContentType, ByteStream![Vec<u8>]), Error> {
    let After(after) = after.map_err(|_| Error::BadRequest("after must be a 32-bit integer"))?;
    let permit = exports.permit().await?;
    let connection = database.connection_for_many_rows().await?;
    let (client, chunks) = exports.client();
    let (database_timeout, deadline) = (exports.database_timeout, exports.deadline);
    let reading = async move {
        let _permit = permit;
        let read = read(connection, after, &client, database_timeout);
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
    // Keeps the handler's span: Rocket sends the remaining lines after the handler has returned.
    let span = Span::current();
    let lines = ByteStream! {
        if let Some(first) = first {
            yield first;
        }
        while let Some(chunk) = reading.next().await {
            yield chunk.unwrap_or_else(|error| span.in_scope(|| last_line(&error)));
        }
    };
    Ok((nd_json(), lines))
}

fn nd_json() -> ContentType {
    ContentType::new("application", "x-ndjson")
}

/// The last line of a failed export. The status has already been sent,
/// so the error can be reported only in the body.
fn last_line(error: &Error) -> Vec<u8> {
    warn!("an export has ended early: {}", with_causes(error));
    let mut line = Vec::new();
    match add_line(&mut line, &error.problem()) {
        Ok(()) => line,
        Err(_cannot_be_written) => Vec::new(),
    }
}
// ANCHOR_END: export

// ANCHOR: reading
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
            Err(panicked) => Some(Err(Error::Panicked(panicked))),
        }
    }
}
// ANCHOR_END: reading

// ANCHOR: client
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
// ANCHOR_END: client

// ANCHOR: read
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
// ANCHOR_END: read

// ANCHOR: line
/// Appends a value as JSON without line breaks, followed by a line break.
fn add_line(lines: &mut Vec<u8>, value: &impl Serialize) -> serde_json::Result<()> {
    serde_json::to_writer(&mut *lines, value)?;
    lines.push(b'\n');
    Ok(())
}
// ANCHOR_END: line

#[cfg(test)]
mod tests {
    use super::*;

    #[rocket::async_test]
    async fn a_panic_does_not_look_like_the_end() {
        let (handed_over, chunks) = mpsc::channel(1);
        let task = spawn(async move {
            handed_over.send(b"{}\n".to_vec()).await.unwrap();
            panic!("a bug in the middle");
        });
        let task = Some(task);
        let mut reading = Reading { chunks, task };
        assert_eq!(reading.next().await.unwrap().unwrap(), b"{}\n");
        let error = reading.next().await.unwrap().unwrap_err();
        assert!(matches!(error, Error::Panicked(_)));
        assert!(reading.next().await.is_none());
    }
}
