//! The collector: it takes what a service exports by OTLP over HTTP, badly or not at all when it is told so, and shows what has arrived.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::sync::watch;

use super::otlp::{self, Series, Span};
use super::port::Port;
use super::upstream::next_head;

/// How long somebody waits for a service that has never sent anything, once that was waited for in vain.
const NO_HOPE: Duration = Duration::from_millis(100);
/// The longest body that it reads, in bytes.
const MAX_BODY: u64 = 16 * 1024 * 1024;

/// What it does with each export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manners {
    /// Takes it.
    Takes,
    /// Takes it, and keeps nothing of it but a count: it costs as little as it can.
    Discards,
    /// Answers nothing until it is told something else; then it does that.
    Hangs,
    /// Takes nothing, and answers this status.
    Refuses(u16),
    /// Takes nothing, and ends the connection in the middle of its answer.
    AnswersHalf,
    /// Takes nothing, and ends the connection without an answer.
    HangsUp,
}

/// What has arrived so far.
#[derive(Debug, Clone, Default)]
pub struct Received {
    /// Spans that it took, in the order in which they arrived.
    pub spans: Vec<Span>,
    /// All series, as they were when they last arrived.
    pub series: Vec<Series>,
    /// Exports of metrics that it took.
    pub pushes: usize,
    /// The bytes of all bodies, also of those that it did not take.
    pub bytes: Vec<u8>,
    /// Exports of spans that came, taken or not.
    pub exports: usize,
    /// What came and was no OTLP over HTTP.
    pub unusable: Option<String>,
}

impl Received {
    /// The spans of this trace.
    pub fn of_trace(&self, trace: &str) -> Vec<&Span> {
        self.spans
            .iter()
            .filter(|span| span.trace == trace)
            .collect()
    }
}

/// The collector; it is gone when this is dropped.
pub struct Collector {
    port: Port,
    state: Arc<State>,
}

/// What all of its connections share.
struct State {
    manners: watch::Sender<Manners>,
    received: watch::Sender<Received>,
    /// Something has come, whatever it was.
    heard: AtomicBool,
    /// Somebody has waited in vain.
    missed: AtomicBool,
}

impl Collector {
    /// Listens on a free port of 127.0.0.1, and takes what comes.
    pub async fn start() -> anyhow::Result<Collector> {
        let state = Arc::new(State {
            manners: watch::Sender::new(Manners::Takes),
            received: watch::Sender::default(),
            heard: AtomicBool::default(),
            missed: AtomicBool::default(),
        });
        let serving = Arc::clone(&state);
        let port = Port::free(move |connection| {
            let state = Arc::clone(&serving);
            async move { state.serve(connection).await }
        });
        Ok(Collector {
            port: port.context("the collector cannot listen")?,
            state,
        })
    }

    /// What services know it by: their `OTEL_EXPORTER_OTLP_ENDPOINT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.port.address())
    }

    /// From now on it does this, with the exports that hang as well.
    pub fn behave(&self, manners: Manners) {
        self.state.manners.send_replace(manners);
    }

    /// Asks something of what has arrived so far.
    pub fn seen<T>(&self, ask: impl FnOnce(&Received) -> T) -> T {
        ask(&self.state.received.borrow())
    }

    /// Forgets what has arrived so far, but for the series.
    pub fn forget(&self) {
        self.state.received.send_modify(|received| {
            received.spans.clear();
            received.bytes.clear();
            received.exports = 0;
        });
    }

    /// Returns when it is so, and at the limit. A service that has never sent anything is waited for only once.
    pub async fn until(&self, limit: Duration, is_so: impl Fn(&Received) -> bool) -> bool {
        let State { heard, missed, .. } = &*self.state;
        let hopeless = missed.load(Ordering::Relaxed) && !heard.load(Ordering::Relaxed);
        let limit = if hopeless { limit.min(NO_HOPE) } else { limit };
        let mut received = self.state.received.subscribe();
        let so = received.wait_for(|received| is_so(received));
        // The sender is in `self`, so there is no end to wait for but the limit.
        let in_time = tokio::time::timeout(limit, so).await.is_ok();
        missed.fetch_or(!in_time, Ordering::Relaxed);
        in_time
    }

    /// Closes all connections, and refuses others until it is back.
    pub async fn leave(&self) {
        self.port.close().await;
    }

    /// Listens again, where it did.
    pub async fn come_back(&self) {
        self.port.reopen().await;
    }
}

impl State {
    /// Takes the exports of one connection, one after the other.
    async fn serve(&self, connection: TcpStream) -> io::Result<()> {
        connection.set_nodelay(true)?;
        let mut connection = BufReader::new(connection);
        while let Some(head) = next_head(&mut connection).await? {
            let body = read_body(&mut connection, &head).await?;
            self.heard.store(true, Ordering::Relaxed);
            let is_spans = head.starts_with("POST /v1/traces ");
            let is_kept = *self.manners.borrow() != Manners::Discards;
            self.received.send_modify(|received| {
                if is_kept {
                    received.bytes.extend_from_slice(&body);
                }
                received.exports += usize::from(is_spans);
            });
            let mut manners = self.manners.subscribe();
            let told = manners.wait_for(|manners| *manners != Manners::Hangs).await;
            // The sender is in `self`.
            let manners = told.map_or(Manners::Takes, |manners| *manners);
            match manners {
                Manners::Takes => {
                    self.take(&head, &body);
                    // An empty message: all of it was taken.
                    connection.write_all(&answer(200)).await?;
                }
                Manners::Discards => connection.write_all(&answer(200)).await?,
                Manners::Refuses(status) => connection.write_all(&answer(status)).await?,
                Manners::AnswersHalf => {
                    let half = b"HTTP/1.1 200 OK\r\nContent-Type: application/x-protobuf\r\nContent-Length: 100\r\n\r\n\x0a";
                    return connection.write_all(half).await;
                }
                Manners::HangsUp | Manners::Hangs => return Ok(()),
            }
        }
        Ok(())
    }

    fn take(&self, head: &str, body: &[u8]) {
        let path = head.split(' ').nth(1).unwrap_or_default();
        let (spans, series) = match path {
            "/v1/traces" => (Some(otlp::spans(body)), None),
            "/v1/metrics" => (None, Some(otlp::series(body))),
            _ => (None, None),
        };
        self.received.send_modify(|received| match (spans, series) {
            (Some(Ok(spans)), _) => received.spans.extend(spans),
            (_, Some(Ok(series))) => {
                received.series = series;
                received.pushes += 1;
            }
            _ => received.unusable = Some(format!("{} bytes to {path}", body.len())),
        });
    }
}

/// The body of a request with this head.
async fn read_body(connection: &mut BufReader<TcpStream>, head: &str) -> io::Result<Vec<u8>> {
    let header = |wanted: &str| {
        head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case(wanted).then(|| value.trim())
        })
    };
    let mut body = Vec::new();
    if header("transfer-encoding").is_some_and(|coding| coding.eq_ignore_ascii_case("chunked")) {
        loop {
            let mut line = String::new();
            connection.read_line(&mut line).await?;
            let length = u64::from_str_radix(line.trim(), 16).map_err(io::Error::other)?;
            read_exactly(connection, length, &mut body).await?;
            connection.read_line(&mut String::new()).await?;
            if length == 0 {
                return Ok(body);
            }
        }
    }
    let length = header("content-length").and_then(|length| length.parse().ok());
    read_exactly(connection, length.unwrap_or(0), &mut body).await?;
    Ok(body)
}

async fn read_exactly(
    connection: &mut BufReader<TcpStream>,
    length: u64,
    body: &mut Vec<u8>,
) -> io::Result<()> {
    if length > MAX_BODY {
        return Err(io::Error::other("a body that is too long"));
    }
    let read = connection.take(length).read_to_end(body).await?;
    match read as u64 == length {
        true => Ok(()),
        false => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

fn answer(status: u16) -> Vec<u8> {
    let head = "Content-Type: application/x-protobuf\r\nContent-Length: 0";
    format!("HTTP/1.1 {status} \r\n{head}\r\n\r\n").into_bytes()
}
