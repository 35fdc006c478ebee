//! A port whose connections are served by a function of ours: it can be closed, with everything on it, and opened again.

use std::io;
use std::mem;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::{Mutex, oneshot};
use tokio::task::{JoinHandle, JoinSet};

/// What the system is asked to hold of what we send, in bytes. Left alone, it lets the buffers of a fast connection grow
/// to megabytes: they would hide from a sender that nothing is read.
const BUFFER: u32 = 128 * 1024;
/// How many connections may wait to be accepted: thousands of callers come at once.
const BACKLOG: u32 = 4096;

/// Serves one connection. One that breaks is the other side's to notice.
type Serve = dyn Fn(TcpStream) -> BoxFuture<'static, io::Result<()>> + Send + Sync;

/// The port. Dropping it closes every connection.
pub struct Port {
    address: SocketAddr,
    serve: Arc<Serve>,
    gate: Mutex<PortState>,
}

enum PortState {
    Open {
        close: oneshot::Sender<()>,
        /// Gives what keeps the port when it is closed.
        accepting: JoinHandle<Option<TcpSocket>>,
    },
    /// A bound socket that does not listen keeps the port ours while it refuses connections.
    Closed(Option<TcpSocket>),
}

impl Port {
    /// Serves connections to a free port of 127.0.0.1.
    pub fn free<F>(serve: impl Fn(TcpStream) -> F + Send + Sync + 'static) -> io::Result<Port>
    where
        F: Future<Output = io::Result<()>> + Send + 'static,
    {
        Port::at(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), serve)
    }

    /// Serves connections to this address.
    pub fn at<F>(
        address: SocketAddr,
        serve: impl Fn(TcpStream) -> F + Send + Sync + 'static,
    ) -> io::Result<Port>
    where
        F: Future<Output = io::Result<()>> + Send + 'static,
    {
        let socket = bound(address)?;
        let address = socket.local_addr()?;
        let serve: Arc<Serve> = Arc::new(move |connection| Box::pin(serve(connection)));
        Ok(Port {
            address,
            gate: Mutex::new(open(socket, Arc::clone(&serve))?),
            serve,
        })
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends every connection, and refuses new ones.
    pub async fn close(&self) {
        let mut gate = self.gate.lock().await;
        *gate = match mem::replace(&mut *gate, PortState::Closed(None)) {
            PortState::Open { close, accepting } => {
                drop(close);
                PortState::Closed(accepting.await.ok().flatten())
            }
            closed @ PortState::Closed(_) => closed,
        };
    }

    pub async fn reopen(&self) {
        let mut gate = self.gate.lock().await;
        if let PortState::Closed(placeholder) = &mut *gate {
            let socket = placeholder.take().map_or_else(|| bound(self.address), Ok);
            let opened = socket.and_then(|socket| open(socket, Arc::clone(&self.serve)));
            // A port that somebody else has taken stays closed, as a server does that cannot start.
            if let Ok(opened) = opened {
                *gate = opened;
            }
        }
    }
}

fn open(socket: TcpSocket, serve: Arc<Serve>) -> io::Result<PortState> {
    let (close, closing) = oneshot::channel();
    let accepting = tokio::spawn(accept(socket.listen(BACKLOG)?, serve, closing));
    Ok(PortState::Open { close, accepting })
}

/// Serves connections until the sender is dropped, and ends them then.
async fn accept(
    listener: TcpListener,
    serve: Arc<Serve>,
    mut closing: oneshot::Receiver<()>,
) -> Option<TcpSocket> {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                if let Ok((connection, _)) = accepted {
                    connections.spawn(serve(connection));
                }
            }
            Some(_) = connections.join_next() => {}
            _ = &mut closing => break,
        }
    }
    let address = listener.local_addr();
    drop(listener);
    let placeholder = address.and_then(bound).ok();
    connections.shutdown().await;
    placeholder
}

/// A socket that does not listen yet. What it accepts then has its buffers.
fn bound(address: SocketAddr) -> io::Result<TcpSocket> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    socket.set_reuseaddr(true)?;
    socket.set_send_buffer_size(BUFFER)?;
    socket.bind(address)?;
    Ok(socket)
}
