//! The connections that requests go by: a new one for each, which ends with its answer.

use std::error::Error;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use nix::sys::socket::{setsockopt, sockopt};
use tokio::net::{TcpSocket, TcpStream};

/// The largest segment, in bytes, as an Ethernet has it, and the buffer for what comes. Left alone, the system keeps megabytes of
/// what nobody takes on its way over loopback, and a sender would not notice for long.
const SEGMENT: u32 = 1460;
const BUFFER: u32 = 16 * 1024;

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
