//! The multistatus: one response about many resources (RFC 4918, section 13).
//!
//! The response is streamed, so only a few parts of it are ever in memory, however many contacts a book has.

use std::{fmt::Write, mem, time::Duration};

use axum::{
    body::Body,
    http::{StatusCode, header::CONTENT_TYPE},
    response::{IntoResponse, Response},
};
use futures_util::stream::{self, StreamExt};
use tokio::{sync::mpsc, time::timeout};
use tracing::Instrument;

use crate::{
    dav::properties::{Asked, Described},
    error::Error,
    markup::{self, DECLARATION, NAMESPACES},
    users::User,
};

/// A part is sent once it has at least this many bytes.
const PART: usize = 64 << 10;
/// The time limit for a client to accept a part.
const PATIENCE: Duration = Duration::from_secs(10);

// ANCHOR: multistatus
/// Writes the body of a 207 response: collects a part, then sends it through a channel.
pub struct Multistatus {
    user: User,
    asked: Asked,
    part: String,
    parts: mpsc::Sender<Result<String, Error>>,
}

/// Streams the document that `write` produces in a separate task. If the client disconnects, the task stops between two
/// queries, never during one. An error before the first part becomes the response. A later error breaks the connection, so
/// that no client mistakes a truncated response for a complete one.
///
/// # Errors
/// `write` fails before it has sent the first part.
pub async fn answer<W>(
    user: &User,
    asked: Asked,
    write: impl FnOnce(Multistatus) -> W,
) -> Result<Response, Error>
where
    W: Future<Output = Result<(), Error>> + Send + 'static,
{
    let (parts, mut written) = mpsc::channel(1);
    let errors = parts.clone();
    let writing = write(Multistatus::new(user.clone(), asked, parts));
    let task = async move {
        if let Err(error) = writing.await {
            // Sending fails only if the client has disconnected, and then the error has no recipient.
            let _ = errors.send(Err(error)).await;
        }
    };
    tokio::spawn(task.in_current_span());

    let first = written.recv().await.unwrap_or(Err(Error::Panicked))?;
    let rest = stream::unfold(written, async |mut written| {
        Some((written.recv().await?.inspect_err(Error::log), written))
    });
    let body = Body::from_stream(stream::iter([Ok(first)]).chain(rest));
    let content_type = [(CONTENT_TYPE, markup::CONTENT_TYPE)];
    Ok((StatusCode::MULTI_STATUS, content_type, body).into_response())
}

impl Multistatus {
    fn new(user: User, asked: Asked, parts: mpsc::Sender<Result<String, Error>>) -> Multistatus {
        let namespaces = asked.namespaces();
        let part = format!("{DECLARATION}<D:multistatus{NAMESPACES}{namespaces}>");
        Multistatus {
            user,
            asked,
            part,
            parts,
        }
    }

    /// Writes the requested properties of the resource at this path.
    pub async fn describe(&mut self, path: &str, resource: Described<'_>) -> Result<(), Error> {
        let (mut found, mut missing) = (String::new(), String::new());
        for property in self.asked.properties() {
            let tag = property.tag();
            match resource.value(property, &self.user) {
                Some(value) => match self.asked.shown(value) {
                    empty if empty.is_empty() => append(&mut found, format_args!("<{tag}/>")),
                    value => {
                        let attributes = resource.attributes(property.name());
                        append(
                            &mut found,
                            format_args!("<{tag}{attributes}>{value}</{tag}>"),
                        );
                    }
                },
                // `allprop` and `propname` ask only for the properties that the resource has.
                None if self.asked.is_for_all() => {}
                None => append(&mut missing, format_args!("<{tag}/>")),
            }
        }
        let path = markup::escaped(path);
        self.write(format_args!("<D:response><D:href>{path}</D:href>"));
        if !found.is_empty() || missing.is_empty() {
            self.propstat(&found, "200 OK");
        }
        if !missing.is_empty() {
            self.propstat(&missing, "404 Not Found");
        }
        self.write(format_args!("</D:response>"));
        self.send_when_full().await
    }

    /// Writes a 403 for each requested property of the resource at this path: all are protected.
    pub fn protect(&mut self, path: &str) {
        let properties = self.asked.properties().iter();
        let tags: String = properties
            .map(|property| format!("<{}/>", property.tag()))
            .collect();
        let path = markup::escaped(path);
        self.write(format_args!(
            "<D:response><D:href>{path}</D:href><D:propstat><D:prop>{tags}</D:prop><D:status>HTTP/1.1 403 Forbidden</D:status>\
             <D:error><D:cannot-modify-protected-property/></D:error></D:propstat></D:response>"
        ));
    }

    fn propstat(&mut self, properties: &str, status: &str) {
        self.write(format_args!(
            "<D:propstat><D:prop>{properties}</D:prop><D:status>HTTP/1.1 {status}</D:status></D:propstat>"
        ));
    }

    /// Writes a 404: the resource at this path doesn't exist, or was deleted.
    pub async fn missing(&mut self, path: &str) -> Result<(), Error> {
        self.status(path, "404 Not Found", "");
        self.send_when_full().await
    }

    /// Writes a 507: the results were cut off by the request's limit, or by the search budget.
    pub fn more(&mut self, path: &str) {
        let reason = "<D:error><D:number-of-matches-within-limits/></D:error>";
        self.status(path, "507 Insufficient Storage", reason);
    }

    fn status(&mut self, path: &str, status: &str, reason: &str) {
        let path = markup::escaped(path);
        self.write(format_args!(
            "<D:response><D:href>{path}</D:href><D:status>HTTP/1.1 {status}</D:status>{reason}</D:response>"
        ));
    }

    /// Writes the sync token, which the client keeps for its next sync.
    pub fn sync_token(&mut self, token: &str) {
        let token = markup::escaped(token);
        self.write(format_args!("<D:sync-token>{token}</D:sync-token>"));
    }

    /// Writes the end of the document, and sends the last part.
    pub async fn end(mut self) -> Result<(), Error> {
        self.write(format_args!("</D:multistatus>"));
        self.send().await
    }

    async fn send_when_full(&mut self) -> Result<(), Error> {
        match self.part.len() {
            PART.. => self.send().await,
            _ => Ok(()),
        }
    }

    async fn send(&mut self) -> Result<(), Error> {
        let sent = self.parts.send(Ok(mem::take(&mut self.part)));
        match timeout(PATIENCE, sent).await {
            Ok(Ok(())) => Ok(()),
            _ => Err(Error::ClientGone),
        }
    }

    fn write(&mut self, text: std::fmt::Arguments) {
        append(&mut self.part, text);
    }
}
// ANCHOR_END: multistatus

fn append(xml: &mut String, text: std::fmt::Arguments) {
    // Writing to a `String` never fails.
    let _ = xml.write_fmt(text);
}
