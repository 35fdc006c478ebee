//! An answer that is read piece by piece, so that a test can be a slow client.

use std::time::Duration;

use hyper::Response;
use hyper::body::Incoming;

use crate::answer::shortened;
use crate::connection::{chunk, within};
use crate::failure::Failure;

/// An answer whose body is still coming.
#[derive(Debug)]
pub struct Download {
    curl: String,
    limit: Duration,
    response: Response<Incoming>,
    /// What has come after the lines that were asked for.
    unread: Vec<u8>,
}

/// What was left of a download.
#[derive(Debug)]
pub struct Rest {
    /// How much it was.
    pub bytes: usize,
    /// Its last line, with its line break if it has one.
    pub last_line: Vec<u8>,
}

impl Download {
    pub(crate) fn new(curl: String, limit: Duration, response: Response<Incoming>) -> Self {
        Download {
            curl,
            limit,
            response,
            unread: Vec::new(),
        }
    }

    /// A failure of this request.
    pub fn failure(&self, expected: impl Into<String>, actual: impl Into<String>) -> Failure {
        Failure::new(expected, actual).of(&self.curl)
    }

    pub fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    /// Holds the status code against the contract; the body of another one is read, to show it.
    pub async fn expect_status(&mut self, expected: u16) -> Result<(), Failure> {
        let status = self.status();
        if status == expected {
            return Ok(());
        }
        while self.more().await? {}
        let body = String::from_utf8_lossy(&self.unread);
        Err(self.failure(
            format!("status {expected}"),
            format!("status {status}, body {}", shortened(&body)),
        ))
    }

    /// Reads one line, with its line break.
    pub async fn line(&mut self) -> Result<Vec<u8>, Failure> {
        loop {
            if let Some(end) = memchr::memchr(b'\n', &self.unread) {
                let rest = self.unread.split_off(end + 1);
                return Ok(std::mem::replace(&mut self.unread, rest));
            }
            if !self.more().await? {
                return Err(self.failure("one more line", "the body has ended"));
            }
        }
    }

    /// Reads all that is left, and keeps the last line of it: the whole may be too much for memory.
    pub async fn rest(mut self) -> Result<Rest, Failure> {
        let mut dropped = 0;
        loop {
            let before_it = beginning_of_last_line(&self.unread);
            self.unread.drain(..before_it);
            dropped += before_it;
            if !self.more().await? {
                break;
            }
        }
        Ok(Rest {
            bytes: dropped + self.unread.len(),
            last_line: self.unread,
        })
    }

    /// Waits for some bytes; false at the end of the body.
    async fn more(&mut self) -> Result<bool, Failure> {
        let chunk = within(self.limit, &self.curl, chunk(&mut self.response)).await?;
        if let Some(chunk) = &chunk {
            self.unread.extend_from_slice(chunk);
        }
        Ok(chunk.is_some())
    }
}

/// Where the last line begins, whether it has its line break yet or not.
fn beginning_of_last_line(text: &[u8]) -> usize {
    let before_the_end = text.len().saturating_sub(1);
    memchr::memrchr(b'\n', &text[..before_the_end]).map_or(0, |place| place + 1)
}
