//! `GET /records/export`: all records, a line each, while the database still reads them.

use std::{sync::Arc, time::Duration};

use rocket::{
    State,
    futures::{Stream, TryStreamExt},
    get,
    http::ContentType,
    response::stream::ByteStream,
    serde::json::serde_json,
    tokio::{
        spawn,
        sync::{
            OwnedSemaphorePermit, Semaphore,
            mpsc::{self, Sender, error::SendTimeoutError},
        },
        time::timeout,
    },
};
use serde::Serialize;
use sqlx::{Postgres, pool::PoolConnection};

use crate::{
    api_key::ApiKey, database::Database, error::Error, record::Record, settings::Settings,
};

/// The bytes that are sent at once.
const CHUNK: usize = 64 * 1024;

// ANCHOR: exports
/// How many exports may run, and how long one waits: each keeps a connection until it ends.
pub struct Exports {
    free: Arc<Semaphore>,
    database_timeout: Duration,
    client_timeout: Duration,
}

impl Exports {
    /// Half of the connections, so that the other half goes on reading.
    pub fn new(settings: &Settings) -> Exports {
        let most = (settings.database_pool_size.get() / 2).max(1);
        Exports {
            free: Arc::new(Semaphore::new(most as usize)),
            database_timeout: settings.database_timeout,
            client_timeout: settings.export_timeout,
        }
    }

    /// The permission to export, until it is dropped.
    async fn permit(&self) -> Result<OwnedSemaphorePermit, Error> {
        let free = Arc::clone(&self.free).acquire_owned();
        match timeout(self.database_timeout, free).await {
            Ok(Ok(permit)) => Ok(permit),
            _ => Err(Error::TooManyExports),
        }
    }
}
// ANCHOR_END: exports

// ANCHOR: export
/// Answers all records, ordered by id; 503 when the database does not answer, or too many exports
/// run already.
///
/// The rows are read in a task of their own, which waits while the client is slow: there are never
/// more than a few chunks in memory. When the client goes, Rocket drops the stream, and with it
/// `chunks`; the task then ends, and so does its query.
#[get("/records/export")]
pub async fn export(
    _key: ApiKey,
    exports: &State<Exports>,
    database: &State<Database>,
) -> Result<(ContentType, ByteStream<impl Stream<Item = Vec<u8>>>), Error> {
    let permit = exports.permit().await?;
    let connection = database.connection_for_many_rows().await?;
    let (sender, mut chunks) = mpsc::channel(1);
    let limits = (exports.database_timeout, exports.client_timeout);
    let reading = spawn(async move {
        let result = read(connection, sender, limits).await;
        drop(permit);
        result
    });

    let lines = ByteStream! {
        while let Some(chunk) = chunks.recv().await {
            yield chunk;
        }
        // The status has long been sent. What has gone wrong since then can only be said in a line.
        if let Ok(Err(error)) = reading.await
            && let Ok(line) = line(&error.problem())
        {
            yield line;
        }
    };
    Ok((ContentType::new("application", "x-ndjson"), lines))
}
// ANCHOR_END: export

// ANCHOR: read
/// Reads all records and sends them on, until the client has all or wants no more.
async fn read(
    mut connection: PoolConnection<Postgres>,
    chunks: Sender<Vec<u8>>,
    (database_timeout, client_timeout): (Duration, Duration),
) -> Result<(), Error> {
    let mut records =
        sqlx::query_as("SELECT id, value, odd, divisible_by_3, visited FROM records ORDER BY id")
            .fetch(&mut *connection);
    loop {
        let Ok(chunk) = timeout(database_timeout, next_chunk(&mut records)).await else {
            return Err(Error::Unavailable("the next rows do not come".into()));
        };
        let chunk = chunk?;
        if chunk.is_empty() {
            return Ok(());
        }
        match chunks.send_timeout(chunk, client_timeout).await {
            Ok(()) => {}
            Err(SendTimeoutError::Timeout(_)) => return Err(Error::ClientTooSlow),
            Err(SendTimeoutError::Closed(_)) => return Ok(()), // the client has gone
        }
    }
}

/// The lines of the next records; none when all have been read.
async fn next_chunk(
    records: &mut (impl Stream<Item = sqlx::Result<Record>> + Unpin),
) -> Result<Vec<u8>, Error> {
    let mut chunk = Vec::with_capacity(CHUNK);
    while chunk.len() < CHUNK
        && let Some(record) = records.try_next().await?
    {
        chunk.extend(line(&record)?);
    }
    Ok(chunk)
}

/// One line of the export: JSON without line breaks, and the line break after it.
fn line(value: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    Ok(line)
}
// ANCHOR_END: read
