//! A TCP proxy between a service and PostgreSQL: it can cut the database off and give it back, let it stall and resume, lose
//! connections without a word, and it counts the connections, the round trips and the bytes that there really are.
//!
//! A round trip is what the client sends until it waits: one or more `Sync` or `Query` messages, each of which the server
//! answers (<https://www.postgresql.org/docs/current/protocol-flow.html>), without an answer in between. A driver that sends
//! `BEGIN` and a query in one go waits once, and is counted once.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context;
use reqwest::Url;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream, lookup_host};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// What the proxy asks the system to hold for it on each way, in bytes. Left alone, a system lets the buffers of a fast connection
/// grow to megabytes: they would hide from the database that its rows are not read.
const BUFFER: u32 = 128 * 1024;
/// Connections that may wait to be accepted.
const BACKLOG: u32 = 1024;

#[derive(Debug, Default)]
struct Counters {
    opened: AtomicU64,
    open: AtomicUsize,
    most_open: AtomicUsize,
    round_trips: AtomicU64,
    received: AtomicU64,
}

/// A database that a test can take away. Dropping the proxy closes every connection through it.
#[derive(Debug)]
pub struct DatabaseProxy {
    url: String,
    address: SocketAddr,
    gate: tokio::sync::Mutex<Gate>,
    line: Line,
    connections: Connections,
    flow: watch::Sender<Flow>,
}

type Connections = Arc<Mutex<JoinSet<std::io::Result<()>>>>;

/// The proxy's port, open while it is accepting.
#[derive(Debug, Default)]
struct Gate {
    accepting: JoinSet<()>,
    /// A bound socket that does not listen keeps the port ours while it refuses connections.
    placeholder: Option<TcpSocket>,
}

/// What becomes of the bytes that arrive. Connections are numbered in the order in which they were opened.
#[derive(Debug, Clone, Copy, Default)]
struct Flow {
    /// Nothing gets through for now on the connections up to this number.
    held: u64,
    /// Nothing ever gets through again on the connections up to this number.
    lost: u64,
    /// The connections up to this number end with a reset.
    reset: u64,
}

impl DatabaseProxy {
    /// Starts a proxy to the server of this URL, on a free port of 127.0.0.1.
    pub async fn start(upstream_url: &str) -> anyhow::Result<Self> {
        let mut url = Url::parse(upstream_url).context("the database URL is not a URL")?;
        let host = url
            .host_str()
            .context("the database URL names no host")?
            .to_owned();
        let upstream = (host, url.port().unwrap_or(5432));
        let socket = bound(SocketAddr::from(([127, 0, 0, 1], 0)))?;
        let address = socket.local_addr()?;
        url.set_host(Some("127.0.0.1"))
            .context("the database URL takes no host")?;
        url.set_port(Some(address.port()))
            .ok()
            .context("the database URL takes no port")?;

        let (flow, flows) = watch::channel(Flow::default());
        let proxy = DatabaseProxy {
            url: url.to_string(),
            address,
            gate: tokio::sync::Mutex::default(),
            line: Line {
                upstream,
                counters: Arc::default(),
                flows,
            },
            connections: Arc::default(),
            flow,
        };
        proxy.accept_on(socket, &mut *proxy.gate.lock().await)?;
        Ok(proxy)
    }

    fn accept_on(&self, socket: TcpSocket, gate: &mut Gate) -> std::io::Result<()> {
        let (line, connections) = (self.line.clone(), Arc::clone(&self.connections));
        let accepting = line.accept(socket.listen(BACKLOG)?, connections);
        gate.accepting.spawn(accepting);
        Ok(())
    }

    /// The URL that a service reaches the database by.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The port of that URL, on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Drops every connection and refuses new ones, as a stopped server does.
    pub async fn cut(&self) {
        let mut gate = self.gate.lock().await;
        if !gate.accepting.is_empty() {
            gate.accepting.shutdown().await;
            gate.placeholder = bound(self.address).ok();
        }
        let mut connections = std::mem::take(&mut *locked(&self.connections));
        connections.shutdown().await;
    }

    /// Accepts connections again.
    pub async fn restore(&self) {
        let mut gate = self.gate.lock().await;
        if gate.accepting.is_empty() {
            let socket = gate.placeholder.take();
            let socket = socket.or_else(|| bound(self.address).ok());
            // A port that somebody else has taken stays closed, as a database does that cannot start.
            let _ = socket.map(|socket| self.accept_on(socket, &mut gate));
        }
    }

    /// Holds everything back in both directions: connections stay, new ones are accepted, but nothing gets through.
    pub fn stall(&self) {
        self.flow.send_modify(|flow| flow.held = u64::MAX);
    }

    /// Holds everything back on the connections that are open now. New ones work.
    pub fn stall_those_open(&self) {
        let opened = self.opened();
        self.flow.send_modify(|flow| flow.held = opened);
    }

    /// Lets everything through that was held back, and what follows.
    pub fn resume(&self) {
        self.flow.send_modify(|flow| flow.held = 0);
    }

    /// Loses the connections that are open now, as a firewall does that forgets them: whatever is sent on them is swallowed, and
    /// neither side is told. New ones work.
    pub fn lose(&self) {
        let opened = self.opened();
        self.flow.send_modify(|flow| flow.lost = opened);
    }

    /// Resets the connections that are open now, as a system does that has been restarted and knows none of them. New ones work.
    pub fn reset(&self) {
        let opened = self.opened();
        self.flow.send_modify(|flow| flow.reset = opened);
    }

    /// The number of connections opened so far.
    pub fn opened(&self) -> u64 {
        self.line.counters.opened.load(Ordering::Relaxed)
    }

    /// The number of connections open now.
    pub fn open(&self) -> usize {
        self.line.counters.open.load(Ordering::Relaxed)
    }

    /// The largest number of connections that were open at the same time.
    pub fn most_open(&self) -> usize {
        self.line.counters.most_open.load(Ordering::Relaxed)
    }

    /// The number of round trips made so far, over all connections.
    pub fn round_trips(&self) -> u64 {
        self.line.counters.round_trips.load(Ordering::Relaxed)
    }

    /// The bytes that have come from the database so far, over all connections.
    pub fn received(&self) -> u64 {
        self.line.counters.received.load(Ordering::Relaxed)
    }
}

/// The way of a connection to the database.
#[derive(Debug, Clone)]
struct Line {
    upstream: (String, u16),
    counters: Arc<Counters>,
    flows: watch::Receiver<Flow>,
}

impl Line {
    async fn accept(self, listener: TcpListener, connections: Connections) {
        loop {
            if let Ok((client, _)) = listener.accept().await {
                let mut connections = locked(&connections);
                while connections.try_join_next().is_some() {}
                connections.spawn(self.clone().forward(client));
            }
        }
    }

    async fn forward(self, client: TcpStream) -> std::io::Result<()> {
        let counters = &self.counters;
        let counted = Counted::new(Arc::clone(counters));
        let passage = Passage {
            flows: self.flows.clone(),
            number: counted.number,
        };
        let server = connected(&self.upstream).await?;
        client.set_nodelay(true)?;
        server.set_nodelay(true)?;
        let (mut client_reads, mut client_writes) = client.into_split();
        let (server_reads, server_writes) = server.into_split();
        let waiting = AtomicBool::new(false);
        let mut messages = Frontend::default();
        let asked = |bytes: &[u8]| {
            if messages.questions_in(bytes) > 0 && !waiting.swap(true, Ordering::Relaxed) {
                counters.round_trips.fetch_add(1, Ordering::Relaxed);
            }
        };
        let answered = |bytes: &[u8]| {
            counters
                .received
                .fetch_add(bytes.len() as u64, Ordering::Relaxed);
            waiting.store(false, Ordering::Relaxed);
        };
        let mut reset = passage.clone();
        // PostgreSQL's protocol knows no half-closed session: when one side goes, the other is let go as well.
        tokio::select! {
            result = pass(&mut client_reads, server_writes, passage.clone(), asked) => result,
            result = pass(server_reads, &mut client_writes, passage, answered) => result,
            () = reset.is_reset() => {
                // Dropped, it would say goodbye first.
                client_writes.forget();
                client_reads.as_ref().set_zero_linger()
            }
        }
    }
}

fn locked(connections: &Connections) -> std::sync::MutexGuard<'_, JoinSet<std::io::Result<()>>> {
    connections.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A socket that does not listen yet. What it accepts then has its buffers.
fn bound(address: SocketAddr) -> std::io::Result<TcpSocket> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.set_send_buffer_size(BUFFER)?;
    socket.bind(address)?;
    Ok(socket)
}

/// A connection to the first address of this host that takes one.
async fn connected((host, port): &(String, u16)) -> std::io::Result<TcpStream> {
    let mut refused = None;
    for address in lookup_host((host.as_str(), *port)).await? {
        let socket = if address.is_ipv4() {
            TcpSocket::new_v4()?
        } else {
            TcpSocket::new_v6()?
        };
        socket.set_recv_buffer_size(BUFFER)?;
        match socket.connect(address).await {
            Ok(connection) => return Ok(connection),
            Err(error) => refused = Some(error),
        }
    }
    Err(refused.unwrap_or_else(|| ErrorKind::NotFound.into()))
}

/// Counts a connection for as long as it is there, and gives it its number.
struct Counted {
    counters: Arc<Counters>,
    number: u64,
}

impl Counted {
    fn new(counters: Arc<Counters>) -> Self {
        let number = counters.opened.fetch_add(1, Ordering::Relaxed) + 1;
        let open = counters.open.fetch_add(1, Ordering::Relaxed) + 1;
        counters.most_open.fetch_max(open, Ordering::Relaxed);
        Counted { counters, number }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.counters.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Whether bytes get through on one connection.
#[derive(Clone)]
struct Passage {
    flows: watch::Receiver<Flow>,
    number: u64,
}

impl Passage {
    /// Waits until something gets through; false when nothing ever will. When the proxy is gone, so is every connection
    /// through it: nobody waits then.
    async fn opens(&mut self) -> bool {
        let number = self.number;
        match self
            .flows
            .wait_for(|flow| number > flow.held || number <= flow.lost)
            .await
        {
            Ok(flow) => number > flow.lost,
            Err(_) => false,
        }
    }

    /// Waits until the connection is to be reset.
    async fn is_reset(&mut self) {
        let number = self.number;
        if self
            .flows
            .wait_for(|flow| number <= flow.reset)
            .await
            .is_err()
        {
            std::future::pending().await
        }
    }
}

/// Passes on what comes, after a look at it.
async fn pass(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut passage: Passage,
    mut look: impl FnMut(&[u8]),
) -> std::io::Result<()> {
    let mut buffer = vec![0; 16 * 1024];
    loop {
        let read = from.read(&mut buffer).await?;
        if read == 0 {
            return to.shutdown().await;
        }
        look(&buffer[..read]);
        if passage.opens().await {
            to.write_all(&buffer[..read]).await?;
        }
    }
}

/// Follows the messages of a client through a byte stream that may be cut anywhere.
///
/// Before the session starts, messages have a length but no type: the start-up message, or requests for encryption
/// (which a server without TLS declines, and the start-up message follows).
#[derive(Debug, Default)]
struct Frontend {
    started: bool,
    head: Vec<u8>,
    body_left: usize,
    startup_code: Vec<u8>,
}

impl Frontend {
    const PROTOCOL_3: u16 = 3;

    /// How many messages that the server answers end their headers in these bytes.
    fn questions_in(&mut self, mut bytes: &[u8]) -> u64 {
        let mut questions = 0;
        while !bytes.is_empty() {
            if self.body_left > 0 {
                let taken = self.body_left.min(bytes.len());
                if !self.started {
                    self.startup_code.extend_from_slice(&bytes[..taken]);
                }
                self.body_left -= taken;
                bytes = &bytes[taken..];
            } else {
                self.head.push(bytes[0]);
                bytes = &bytes[1..];
                let wanted = if self.started { 5 } else { 4 };
                if self.head.len() == wanted {
                    let length = &self.head[wanted - 4..];
                    let length =
                        u32::from_be_bytes([length[0], length[1], length[2], length[3]]) as usize;
                    self.body_left = length.saturating_sub(4);
                    if self.started && matches!(self.head[0], b'S' | b'Q') {
                        questions += 1;
                    }
                    self.head.clear();
                }
            }
            if !self.started && self.body_left == 0 && self.startup_code.len() >= 4 {
                let major = u16::from_be_bytes([self.startup_code[0], self.startup_code[1]]);
                self.started = major == Self::PROTOCOL_3;
                self.startup_code.clear();
            }
        }
        questions
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    /// A server that says nothing by itself, the proxy in front of it, and the proxy's port.
    async fn proxied() -> anyhow::Result<(TcpListener, DatabaseProxy, u16)> {
        let upstream = TcpListener::bind(("127.0.0.1", 0)).await?;
        let url = format!(
            "postgres://u:p@127.0.0.1:{}/d",
            upstream.local_addr()?.port()
        );
        let proxy = DatabaseProxy::start(&url).await?;
        let port = Url::parse(proxy.url())?.port().context("a port")?;
        Ok((upstream, proxy, port))
    }

    fn startup() -> Vec<u8> {
        let mut message = vec![0, 0, 0, 13, 0, 3, 0, 0];
        message.extend_from_slice(b"user\0");
        message
    }

    fn typed(kind: u8, body: &[u8]) -> Vec<u8> {
        let mut message = vec![kind];
        message.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
        message.extend_from_slice(body);
        message
    }

    #[test]
    fn a_sync_and_a_query_are_a_question_each_wherever_the_stream_is_cut() {
        let encryption_request = vec![0, 0, 0, 8, 4, 210, 22, 47];
        let stream = [
            encryption_request,
            startup(),
            typed(b'P', b"a statement with S and Q in it"),
            typed(b'B', b""),
            typed(b'E', b"SSSS"),
            typed(b'S', b""),
            typed(b'Q', b"SELECT 1\0"),
            typed(b'X', b""),
        ]
        .concat();
        for cut in 0..stream.len() {
            let mut messages = Frontend::default();
            let counted =
                messages.questions_in(&stream[..cut]) + messages.questions_in(&stream[cut..]);
            assert_eq!(counted, 2, "cut at byte {cut}");
        }
    }

    #[tokio::test]
    async fn what_is_sent_in_one_go_is_one_round_trip() -> anyhow::Result<()> {
        let (upstream, proxy, port) = proxied().await?;
        let mut client = TcpStream::connect(("127.0.0.1", port)).await?;
        let (mut server, _) = upstream.accept().await?;
        client.write_all(&startup()).await?;
        let mut received = vec![0; startup().len()];
        server.read_exact(&mut received).await?;

        let begin_and_read = [typed(b'Q', b"BEGIN\0"), typed(b'B', b""), typed(b'S', b"")].concat();
        for batch in [begin_and_read, typed(b'S', b"")] {
            client.write_all(&batch).await?;
            let mut received = vec![0; batch.len()];
            server.read_exact(&mut received).await?;
            server.write_all(b"answer").await?;
            client.read_exact(&mut [0; 6]).await?;
        }
        assert_eq!(proxy.round_trips(), 2);
        Ok(())
    }

    #[tokio::test]
    async fn a_cut_drops_connections_and_refuses_new_ones_until_it_is_restored()
    -> anyhow::Result<()> {
        let (upstream, proxy, port) = proxied().await?;

        let mut client = TcpStream::connect(("127.0.0.1", port)).await?;
        let _server = upstream.accept().await?;
        proxy.cut().await;
        let mut rest = Vec::new();
        let _ = client.read_to_end(&mut rest).await;
        assert_eq!(proxy.open(), 0);
        assert!(TcpStream::connect(("127.0.0.1", port)).await.is_err());

        proxy.restore().await;
        TcpStream::connect(("127.0.0.1", port)).await?;
        upstream.accept().await?;
        assert_eq!(proxy.opened(), 2);
        Ok(())
    }

    #[tokio::test]
    async fn a_stall_holds_what_is_sent_in_both_directions_and_cuts_nothing() -> anyhow::Result<()>
    {
        let (upstream, proxy, port) = proxied().await?;
        let mut client = TcpStream::connect(("127.0.0.1", port)).await?;
        let (mut server, _) = upstream.accept().await?;

        proxy.stall();
        client.write_all(b"asked").await?;
        server.write_all(b"told").await?;
        let mut asked = [0; 5];
        let mut told = [0; 4];
        // Nothing comes, so nothing can be awaited: a moment long enough for loopback has to do.
        let moment = Duration::from_millis(50);
        assert!(
            timeout(moment, server.read_exact(&mut asked))
                .await
                .is_err()
        );
        assert!(timeout(moment, client.read_exact(&mut told)).await.is_err());

        proxy.resume();
        server.read_exact(&mut asked).await?;
        client.read_exact(&mut told).await?;
        assert_eq!((&asked, &told, proxy.open()), (b"asked", b"told", 1));
        Ok(())
    }

    #[tokio::test]
    async fn a_stall_of_those_open_leaves_a_new_one_alone() -> anyhow::Result<()> {
        let (upstream, proxy, port) = proxied().await?;
        let mut old = TcpStream::connect(("127.0.0.1", port)).await?;
        let (mut old_server, _) = upstream.accept().await?;

        proxy.stall_those_open();
        old.write_all(b"asked").await?;
        let mut new = TcpStream::connect(("127.0.0.1", port)).await?;
        let (mut new_server, _) = upstream.accept().await?;
        let mut asked = [0; 5];
        new.write_all(b"asked").await?;
        new_server.read_exact(&mut asked).await?;

        proxy.resume();
        old_server.read_exact(&mut asked).await?;
        assert_eq!(&asked, b"asked");
        Ok(())
    }

    #[tokio::test]
    async fn a_reset_connection_says_so_and_a_new_one_works() -> anyhow::Result<()> {
        let (upstream, proxy, port) = proxied().await?;
        let mut old = TcpStream::connect(("127.0.0.1", port)).await?;
        let _old_server = upstream.accept().await?;

        proxy.reset();
        let read = old.read(&mut [0; 1]).await.map_err(|error| error.kind());
        assert_eq!(read, Err(ErrorKind::ConnectionReset));
        TcpStream::connect(("127.0.0.1", port)).await?;
        upstream.accept().await?;
        Ok(())
    }

    #[tokio::test]
    async fn a_lost_connection_swallows_what_is_sent_and_a_new_one_works() -> anyhow::Result<()> {
        let upstream = TcpListener::bind(("127.0.0.1", 0)).await?;
        let url = format!(
            "postgres://u:p@127.0.0.1:{}/d",
            upstream.local_addr()?.port()
        );
        let proxy = DatabaseProxy::start(&url).await?;
        let port = Url::parse(proxy.url())?.port().context("a port")?;
        let mut old = TcpStream::connect(("127.0.0.1", port)).await?;
        let (mut old_server, _) = upstream.accept().await?;

        proxy.lose();
        let mut new = TcpStream::connect(("127.0.0.1", port)).await?;
        let (mut new_server, _) = upstream.accept().await?;
        old.write_all(b"asked").await?;
        new.write_all(b"asked").await?;
        let mut asked = [0; 5];
        new_server.read_exact(&mut asked).await?;
        assert_eq!((&asked, proxy.open()), (b"asked", 2));

        // It is noticed when the client lets go of it, and nothing of what it sent has come through.
        drop(old);
        let mut rest = Vec::new();
        old_server.read_to_end(&mut rest).await?;
        assert_eq!(rest, b"");
        Ok(())
    }
}
