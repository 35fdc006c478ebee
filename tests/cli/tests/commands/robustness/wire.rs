//! A client that sends bytes as they are. An HTTP library would refuse to send most of what a service has to bear.

use std::io;
use std::net::SocketAddr;

use anyhow::Context;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;
use workshop_harness::http::ANSWER_LIMIT;

/// The most headers that an answer may have.
const MOST_HEADERS: usize = 32;

/// What came back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Answer {
    /// The value of a header; none when it is not there.
    pub fn header(&self, name: &str) -> Option<&str> {
        let named = |(other, _): &&(String, String)| other.eq_ignore_ascii_case(name);
        self.headers
            .iter()
            .find(named)
            .map(|(_, value)| value.as_str())
    }
}

impl Answer {
    /// Whether the client is told that it has made a mistake.
    pub fn is_refusal(&self) -> bool {
        (400..500).contains(&self.status)
    }
}

/// A connection that is kept as long as the service keeps it.
pub struct Connection {
    address: SocketAddr,
    stream: Option<TcpStream>,
    /// What has come and belongs to no answer yet.
    unread: Vec<u8>,
}

impl Connection {
    /// Connects at the first request.
    pub fn new(address: SocketAddr) -> Self {
        Connection {
            address,
            stream: None,
            unread: Vec::new(),
        }
    }

    /// Sends a whole request and reads the answer. `to_head` says that the answer has no body.
    pub async fn exchange(&mut self, request: &[u8], to_head: bool) -> anyhow::Result<Answer> {
        let kept = self.stream.is_some();
        match self.exchange_once(request, to_head).await {
            // The service may have closed a kept connection in the meantime.
            Err(error) if kept && self.unread.is_empty() && is_closed(&error) => {
                self.stream = None;
                self.exchange_once(request, to_head).await
            }
            result => result,
        }
    }

    /// The same, without another try on a connection that the service has closed.
    pub async fn exchange_once(&mut self, request: &[u8], to_head: bool) -> anyhow::Result<Answer> {
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => TcpStream::connect(self.address).await?,
        };
        let (mut reading, mut writing) = stream.split();
        // Whoever refuses a request need not read it to its end.
        let (_refused, answer) = tokio::join!(
            writing.write_all(request),
            timeout(
                ANSWER_LIMIT,
                answer(&mut reading, &mut self.unread, to_head)
            )
        );
        let answer = answer.context("no whole answer in time")??;
        // It would be taken for the next answer.
        let more = self.unread.escape_ascii();
        anyhow::ensure!(self.unread.is_empty(), "{answer:?} and then {more}");
        let closes = answer
            .header("Connection")
            .is_some_and(|value| value.eq_ignore_ascii_case("close"));
        if !closes && answer.has_an_end(to_head) {
            self.stream = Some(stream);
        }
        Ok(answer)
    }
}

impl Answer {
    /// Whether it is known where it ends without the end of the connection.
    fn has_an_end(&self, to_head: bool) -> bool {
        to_head
            || self.header("Content-Length").is_some()
            || self.header("Transfer-Encoding").is_some()
    }
}

fn is_closed(error: &anyhow::Error) -> bool {
    let kind = error.downcast_ref::<io::Error>().map(io::Error::kind);
    matches!(
        kind,
        Some(
            io::ErrorKind::UnexpectedEof
                | io::ErrorKind::ConnectionReset
                | io::ErrorKind::BrokenPipe
        )
    )
}

/// Sends bytes that are no request, says that there is nothing more, and reads the status; none when the service has only
/// closed the connection.
pub async fn send_garbage(address: SocketAddr, bytes: &[u8]) -> anyhow::Result<Option<u16>> {
    let mut stream = TcpStream::connect(address).await?;
    let (mut reading, mut writing) = stream.split();
    let mut received = Vec::new();
    let (_refused, read) = tokio::join!(
        async {
            writing.write_all(bytes).await?;
            writing.shutdown().await
        },
        timeout(ANSWER_LIMIT, reading.read_to_end(&mut received))
    );
    // A connection that is reset is closed as well.
    let _ = read.context("the connection was not closed in time")?;
    Ok(match head(&received)? {
        Some((answer, _)) => Some(answer.status),
        None => None,
    })
}

/// Connects with room for a few kilobytes only, so that whoever answers has to wait for this side.
pub async fn connect_with_little_room(address: SocketAddr) -> io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.set_recv_buffer_size(4096)?;
    socket.connect(address).await
}

/// Reads one answer; what is already there of it comes first.
pub async fn answer(
    reading: &mut (impl AsyncReadExt + Unpin),
    unread: &mut Vec<u8>,
    to_head: bool,
) -> anyhow::Result<Answer> {
    let (mut answer, length) = loop {
        match head(unread)? {
            // 100 Continue: the answer comes after it.
            Some((interim, length)) if interim.status < 200 => drop(unread.drain(..length)),
            Some(read) => break read,
            None => more(reading, unread).await?,
        }
    };
    unread.drain(..length);
    if to_head || matches!(answer.status, 204 | 304) {
        return Ok(answer);
    }
    if answer.header("Transfer-Encoding").is_some() {
        answer.body = chunks(reading, unread).await?;
    } else if let Some(length) = answer.header("Content-Length") {
        let length: usize = length
            .parse()
            .context("a Content-Length that is no number")?;
        answer.body = take(reading, unread, length).await?;
    } else {
        reading.read_to_end(unread).await?;
        answer.body = std::mem::take(unread);
    }
    Ok(answer)
}

/// Status and headers, and how long they are; none while they are not whole.
fn head(bytes: &[u8]) -> anyhow::Result<Option<(Answer, usize)>> {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut response = httparse::Response::new(&mut headers);
    let httparse::Status::Complete(length) = response
        .parse(bytes)
        .with_context(|| format!("this is no HTTP: {}", bytes.escape_ascii()))?
    else {
        return Ok(None);
    };
    let headers = response.headers.iter().map(|header| {
        let value = String::from_utf8_lossy(header.value).into_owned();
        (header.name.to_owned(), value)
    });
    let answer = Answer {
        status: response.code.context("an answer without a status")?,
        headers: headers.collect(),
        body: Vec::new(),
    };
    Ok(Some((answer, length)))
}

async fn chunks(
    reading: &mut (impl AsyncReadExt + Unpin),
    unread: &mut Vec<u8>,
) -> anyhow::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let parsed = httparse::parse_chunk_size(unread);
        let parsed = parsed.map_err(|_| anyhow::anyhow!("a chunk without its size"))?;
        let httparse::Status::Complete((start, size)) = parsed else {
            more(reading, unread).await?;
            continue;
        };
        unread.drain(..start);
        let chunk = take(reading, unread, usize::try_from(size)? + 2).await?;
        body.extend(&chunk[..chunk.len() - 2]);
        if size == 0 {
            return Ok(body);
        }
    }
}

/// The next bytes, this many.
async fn take(
    reading: &mut (impl AsyncReadExt + Unpin),
    unread: &mut Vec<u8>,
    length: usize,
) -> anyhow::Result<Vec<u8>> {
    while unread.len() < length {
        more(reading, unread).await?;
    }
    let rest = unread.split_off(length);
    Ok(std::mem::replace(unread, rest))
}

async fn more(
    reading: &mut (impl AsyncReadExt + Unpin),
    unread: &mut Vec<u8>,
) -> anyhow::Result<()> {
    if reading.read_buf(unread).await? == 0 {
        return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
    }
    Ok(())
}
