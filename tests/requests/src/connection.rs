//! The connections that requests go by: a new one for each, which ends with its answer.

use std::error::Error;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use nix::sys::socket::{setsockopt, sockopt};
use tokio::net::{TcpSocket, TcpStream};

use crate::failure::Failure;

/// The largest segment, in bytes, as an Ethernet has it, and the buffer for what comes. Left alone, the system keeps megabytes of
/// what nobody takes on its way over loopback, and a sender would not notice for long.
const SEGMENT: u32 = 1460;
const BUFFER: u32 = 16 * 1024;
/// The longest body that a test reads, in bytes: no call of the suites answers with more.
const BODY_LIMIT: usize = 4 * 1024 * 1024;

/// A connection to the first of these addresses that takes one. Little is kept on its way to us.
pub async fn connect(addresses: &[SocketAddr]) -> io::Result<TcpStream> {
    let mut refused = None;
    for address in addresses {
        let socket = if address.is_ipv4() {
            TcpSocket::new_v4()?
        } else {
            TcpSocket::new_v6()?
        };
        socket.set_recv_buffer_size(BUFFER)?;
        // Where a system refuses it, more is kept on the way: macOS does before there is a connection.
        let _ = setsockopt(&socket, sockopt::TcpMaxSeg, &SEGMENT);
        match socket.connect(*address).await {
            Ok(connection) => return Ok(connection),
            Err(error) => refused = Some(error),
        }
    }
    Err(refused.unwrap_or_else(|| ErrorKind::NotFound.into()))
}

/// Sends a request over a connection of its own. The answer's body comes as it is read; who drops it ends the connection.
pub(crate) async fn send(
    addresses: &[SocketAddr],
    request: Request<Full<Bytes>>,
) -> Result<Response<Incoming>, Broken> {
    let stream = connect(addresses).await?;
    stream.set_nodelay(true)?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection.with_upgrades());
    Ok(sender.send_request(request).await?)
}

/// What has come instead of an answer, in words.
pub(crate) struct Broken(pub(crate) String);

impl<E: Error + 'static> From<E> for Broken {
    /// The innermost cause says what happened; the layers above it only say that a request failed.
    fn from(error: E) -> Self {
        let mut cause: &dyn Error = &error;
        while let Some(inner) = cause.source() {
            cause = inner;
        }
        Broken(format!("no HTTP answer: {cause}"))
    }
}

/// What a request comes to in this time.
pub(crate) async fn within<T>(
    limit: Duration,
    curl: &str,
    answer: impl Future<Output = Result<T, Broken>>,
) -> Result<T, Failure> {
    let failure = match tokio::time::timeout(limit, answer).await {
        Ok(Ok(answer)) => return Ok(answer),
        Ok(Err(error)) => Failure::new("an HTTP answer", error.0),
        Err(_) => Failure::new(
            format!("an answer within {} s", limit.as_secs_f64()),
            "no complete answer in that time",
        ),
    };
    Err(failure.of(curl))
}

/// The whole body of an answer.
pub(crate) async fn read_body(mut response: Response<Incoming>) -> Result<Vec<u8>, Broken> {
    let status = response.status().as_u16();
    let mut body = Vec::new();
    while let Some(chunk) = chunk(&mut response).await? {
        body.extend_from_slice(&chunk);
        if body.len() > BODY_LIMIT {
            return Err(Broken(format!(
                "status {status} and a body that was still coming after {BODY_LIMIT} bytes"
            )));
        }
    }
    Ok(body)
}

/// The next bytes of a body; none at its end.
pub(crate) async fn chunk(response: &mut Response<Incoming>) -> Result<Option<Bytes>, Broken> {
    while let Some(frame) = response.frame().await {
        // Trailers are no part of the body.
        if let Ok(chunk) = frame?.into_data() {
            return Ok(Some(chunk));
        }
    }
    Ok(None)
}
