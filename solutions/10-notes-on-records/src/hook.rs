//! The hook: a service on the hut's own network, notified of each note over plain HTTP.

use std::{io, str::FromStr, time::Duration};

use rocket::{
    serde::json::serde_json,
    tokio::{
        io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
        net::TcpStream,
        sync::{Semaphore, SemaphorePermit},
        time::timeout,
    },
};

use crate::{error::Error, notes::Note, settings::DatabaseSettings};

/// The maximum number of concurrent calls to the hook.
const PLACES: usize = 4;
/// The maximum number of bytes read from the response: the status line is enough.
const STATUS_LINE: u64 = 64;

/// The address of the hook. The path is a secret, and authorizes this service.
#[derive(Clone)]
pub struct HookUrl {
    address: String,
    path: String,
}

impl FromStr for HookUrl {
    type Err = ();

    fn from_str(url: &str) -> Result<HookUrl, ()> {
        let (address, path) = url
            .strip_prefix("http://")
            .and_then(|rest| rest.split_once('/'))
            .ok_or(())?;
        Ok(HookUrl {
            address: address.to_owned(),
            path: format!("/{path}"),
        })
    }
}

/// The hook, if there is one, and the limit on concurrent calls to it.
pub struct Hook {
    url: Option<HookUrl>,
    places: Semaphore,
    limit: Duration,
}

impl Hook {
    /// Calls to the hook have the same time limit as calls to the database.
    pub fn new(url: Option<&HookUrl>, database: &DatabaseSettings) -> Hook {
        Hook {
            url: url.cloned(),
            places: Semaphore::new(PLACES),
            limit: database.timeout,
        }
    }

    /// A permit to call the hook. Dropping the permit releases it.
    pub fn place(&self) -> Result<SemaphorePermit<'_>, Error> {
        self.places.try_acquire().map_err(|_| Error::TooManyCalls)
    }

    /// Notifies the hook of a note.
    pub async fn tell(&self, note: &Note) -> Result<(), Error> {
        let Some(url) = &self.url else {
            return Ok(());
        };
        let told = match timeout(self.limit, url.post(note)).await {
            Ok(told) => told,
            Err(_elapsed) => Err(io::ErrorKind::TimedOut.into()),
        };
        told.map_err(|error| {
            let HookUrl { address, path } = url;
            Error::Hook(format!("http://{address}{path}: {error}").into())
        })
    }
}

impl HookUrl {
    async fn post(&self, note: &Note) -> io::Result<()> {
        let HookUrl { address, path } = self;
        let body = serde_json::to_string(note)?;
        let length = body.len();
        let request = format!(
            "POST {path} HTTP/1.0\r\nHost: {address}\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        );
        let mut connection = TcpStream::connect(address).await?;
        connection.write_all(request.as_bytes()).await?;
        let mut status = String::new();
        let mut answer = BufReader::new(connection).take(STATUS_LINE);
        answer.read_line(&mut status).await?;
        match status.split(' ').nth(1) {
            Some(code) if code.starts_with('2') => Ok(()),
            _ => Err(io::Error::other("it did not answer with success")),
        }
    }
}
