//! `GET /records/export`: all records, a line each, while the database still reads them.

use std::{sync::Arc, time::Duration};

use rocket::{
    State, get,
    http::ContentType,
    response::stream::ByteStream,
    serde::json::serde_json,
    tokio::{
        spawn,
        sync::{
            OwnedSemaphorePermit, Semaphore,
            mpsc::{self, Receiver, Sender, error::SendTimeoutError},
        },
        time::timeout,
    },
    warn,
};
use serde::Serialize;
use sqlx::{Postgres, pool::PoolConnection};

use crate::{
    api_key::ApiKey, causes::with_causes, database::Database, error::Error, record::Record,
    settings::DatabaseSettings,
};

/// The bytes that are sent at once.
const CHUNK: usize = 64 * 1024;

// ANCHOR: exports
/// How many exports may run, and how long one waits: each keeps a connection until it ends.
pub struct Exports {
    permits: Arc<Semaphore>,
    database_timeout: Duration,
    client_timeout: Duration,
}

impl Exports {
    /// Half of the connections, so that the other half goes on reading.
    pub fn new(database: &DatabaseSettings, client_timeout: Duration) -> Exports {
        let permits = (database.pool_size.get() / 2).max(1);
        Exports {
            permits: Arc::new(Semaphore::new(permits.into())),
            database_timeout: database.timeout,
            client_timeout,
        }
    }

    /// The permission to export, until it is dropped.
    async fn permit(&self) -> Result<OwnedSemaphorePermit, Error> {
        let permit = Arc::clone(&self.permits).acquire_owned();
        match timeout(self.database_timeout, permit).await {
            Ok(Ok(permit)) => Ok(permit),
            _ => Err(Error::TooManyExports),
        }
    }

    /// The client of one export, and what has been handed over to it and not yet sent.
    fn client(&self) -> (Client, Receiver<Result<Vec<u8>, Error>>) {
        let (chunks, handed_over) = mpsc::channel(1);
        let timeout = self.client_timeout;
        (Client { chunks, timeout }, handed_over)
    }
}
// ANCHOR_END: exports

// ANCHOR: export
/// Answers all records, ordered by id; 503 when the database does not answer, or too many exports
/// run already.
///
/// The rows are read in a task of their own. It waits while the client is slow, so there are never
/// more than a few chunks in memory; it gives up when the client takes none for too long. When the
/// client goes, Rocket drops the stream, and with it `chunks`: the task ends, and so does its query.
#[get("/records/export")]
pub async fn export(
    _key: ApiKey,
    exports: &State<Exports>,
    database: &State<Database>,
) -> Result<(ContentType, ByteStream![Vec<u8>]), Error> {
    let permit = exports.permit().await?;
    let connection = database.connection_for_many_rows().await?;
    let (client, mut chunks) = exports.client();
    let database_timeout = exports.database_timeout;
    spawn(async move {
        let result = read(connection, &client, database_timeout).await;
        drop(permit);
        if let Err(error) = result {
            client.tell(error).await;
        }
    });

    // Until the first rows are here, an error still has a status of its own.
    let first = chunks.recv().await.transpose()?;
    let lines = ByteStream! {
        if let Some(first) = first {
            yield first;
        }
        while let Some(chunk) = chunks.recv().await {
            yield chunk.unwrap_or_else(|error| last_line(&error));
        }
    };
    Ok((nd_json(), lines))
}

fn nd_json() -> ContentType {
    ContentType::new("application", "x-ndjson")
}

/// The end of an export that has failed. The status has long been sent: a line is all that is left
/// to say it with.
fn last_line(error: &Error) -> Vec<u8> {
    warn!("an export has ended early: {}", with_causes(error));
    let mut line = Vec::new();
    match add_line(&mut line, &error.problem()) {
        Ok(()) => line,
        Err(_cannot_be_written) => Vec::new(),
    }
}
// ANCHOR_END: export

// ANCHOR: client
/// The client, as the reading task sees it.
struct Client {
    chunks: Sender<Result<Vec<u8>, Error>>,
    timeout: Duration,
}

impl Client {
    /// Hands over some lines, once those before them are on their way. False when the client has
    /// gone.
    ///
    /// # Errors
    /// The client has taken nothing for too long.
    async fn takes(&self, lines: Vec<u8>) -> Result<bool, Error> {
        match self.chunks.send_timeout(Ok(lines), self.timeout).await {
            Ok(()) => Ok(true),
            Err(SendTimeoutError::Closed(_)) => Ok(false),
            Err(SendTimeoutError::Timeout(_)) => Err(Error::ClientTooSlow),
        }
    }

    /// Says why the export ends here, whenever the client is ready to hear it.
    async fn tell(&self, error: Error) {
        // This fails when the client has gone: then there is nobody to tell.
        let _ = self.chunks.send(Err(error)).await;
    }
}
// ANCHOR_END: client

// ANCHOR: read
/// Reads all records and hands them over.
async fn read(
    mut connection: PoolConnection<Postgres>,
    client: &Client,
    _database_timeout: Duration,
) -> Result<(), Error> {
    let records: Vec<Record> =
        sqlx::query_as("SELECT id, value, odd, divisible_by_3, visited FROM records ORDER BY id")
            .fetch_all(&mut *connection)
            .await?;
    let mut lines = Vec::with_capacity(CHUNK);
    for record in &records {
        add_line(&mut lines, record)?;
    }
    client.takes(lines).await?;
    Ok(())
}
// ANCHOR_END: read

// ANCHOR: line
/// Adds a line: JSON, which has no line break in it, and the line break after it.
fn add_line(lines: &mut Vec<u8>, value: &impl Serialize) -> serde_json::Result<()> {
    serde_json::to_writer(&mut *lines, value)?;
    lines.push(b'\n');
    Ok(())
}
// ANCHOR_END: line
