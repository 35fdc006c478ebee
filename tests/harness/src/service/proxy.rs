//! A TCP proxy between a service and PostgreSQL: it can cut the database off and give it back, let it stall and resume, lose
//! connections without a word, refuse one too many, and it counts the connections, the round trips and the bytes that there really are.
//!
//! A round trip is what the client sends until it waits: one or more `Sync` or `Query` messages, each of which the server
//! answers (<https://www.postgresql.org/docs/current/protocol-flow.html>), without an answer in between. A driver that sends
//! `BEGIN` and a query in one go waits once, and is counted once.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use anyhow::Context;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;
use url::Url;
use workshop_requests::connection::connect;

use super::port::Port;

/// A database that a test can take away. Dropping the proxy closes every connection through it.
pub struct DatabaseProxy {
    url: String,
    port: Port,
    line: Arc<DatabaseLine>,
}

impl DatabaseProxy {
    /// Starts a proxy to the server of this URL, on a free port of 127.0.0.1.
    pub async fn start(upstream_url: &str) -> anyhow::Result<Self> {
        DatabaseProxy::start_at(Ipv4Addr::LOCALHOST.into(), upstream_url).await
    }

    /// Starts a proxy to the server of this URL, on a free port of this address.
    pub async fn start_at(address: IpAddr, upstream_url: &str) -> anyhow::Result<Self> {
        let mut url = Url::parse(upstream_url).context("the database URL is not a URL")?;
        let upstream = url.socket_addrs(|| Some(5432));
        let line = Arc::new(DatabaseLine {
            upstream: upstream.context("the host of the database URL is not known")?,
            counters: Counters::default(),
            allowed: AtomicUsize::new(usize::MAX),
            flow: watch::Sender::default(),
        });
        let forwarding = Arc::clone(&line);
        let port = Port::at(SocketAddr::new(address, 0), move |client| {
            let line = Arc::clone(&forwarding);
            async move { line.forward(client).await }
        })?;
        url.set_ip_host(address)
            .ok()
            .context("the database URL takes no host")?;
        url.set_port(Some(port.address().port()))
            .ok()
            .context("the database URL takes no port")?;
        Ok(DatabaseProxy {
            url: url.to_string(),
            port,
            line,
        })
    }

    /// The URL that a service reaches the database by.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Drops every connection and refuses new ones, as a stopped server does.
    pub async fn cut(&self) {
        self.port.close().await;
    }

    pub async fn restore(&self) {
        self.port.reopen().await;
    }

    /// Holds everything back in both directions: connections stay, new ones are accepted, but nothing gets through.
    pub fn stall(&self) {
        self.line.flow.send_modify(|flow| flow.held = u64::MAX);
    }

    /// Holds everything back on the connections that are open now. New ones work.
    pub fn stall_those_open(&self) {
        let opened = self.opened();
        self.line.flow.send_modify(|flow| flow.held = opened);
    }

    /// Lets everything through that was held back, and what follows.
    pub fn resume(&self) {
        self.line.flow.send_modify(|flow| flow.held = 0);
    }

    /// Loses the connections that are open now, as a firewall does that forgets them: whatever is sent on them is swallowed, and
    /// neither side is told. New ones work.
    pub fn lose(&self) {
        let opened = self.opened();
        self.line.flow.send_modify(|flow| flow.lost = opened);
    }

    /// Resets the connections that are open now, as a system does that has been restarted and knows none of them. New ones work.
    pub fn reset(&self) {
        let opened = self.opened();
        self.line.flow.send_modify(|flow| flow.reset = opened);
    }

    /// Refuses connections from now on while this many are open, as a server does that has a limit.
    pub fn allow(&self, most: usize) {
        self.line.allowed.store(most, Ordering::Relaxed);
    }

    /// The number of connections refused so far.
    pub fn refused(&self) -> usize {
        self.line.counters.refused.load(Ordering::Relaxed)
    }

    /// The number of connections opened so far.
    pub fn opened(&self) -> u64 {
        self.line.counters.opened.load(Ordering::Relaxed)
    }

    /// The number of connections open now.
    pub fn open(&self) -> usize {
        self.line.counters.open.load(Ordering::Relaxed)
    }

    /// The largest number of connections that were in use at the same time. One counts from the server's first answer on: of a pool
    /// that gives up and tries again, the connection given up can end here after the next has begun.
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

/// The way of all connections to the database.
struct DatabaseLine {
    upstream: Vec<SocketAddr>,
    counters: Counters,
    /// How many connections may be open at the same time.
    allowed: AtomicUsize,
    flow: watch::Sender<Flow>,
}

#[derive(Default)]
struct Counters {
    opened: AtomicU64,
    open: AtomicUsize,
    in_use: AtomicUsize,
    most_open: AtomicUsize,
    refused: AtomicUsize,
    round_trips: AtomicU64,
    received: AtomicU64,
}

/// What becomes of the bytes that arrive. Connections are numbered in the order in which they were opened.
#[derive(Clone, Copy, Default)]
struct Flow {
    /// Nothing gets through for now on the connections up to this number.
    held: u64,
    /// Nothing ever gets through again on the connections up to this number.
    lost: u64,
    /// The connections up to this number end with a reset.
    reset: u64,
}

impl DatabaseLine {
    async fn forward(&self, client: TcpStream) -> io::Result<()> {
        let counters = &self.counters;
        if counters.open.load(Ordering::Relaxed) >= self.allowed.load(Ordering::Relaxed) {
            counters.refused.fetch_add(1, Ordering::Relaxed);
            return refuse(client).await;
        }
        let mut counted = Counted::new(counters);
        let number = counted.number;
        let server = connect(&self.upstream).await?;
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
            counted.in_use();
            counters
                .received
                .fetch_add(bytes.len() as u64, Ordering::Relaxed);
            waiting.store(false, Ordering::Relaxed);
        };
        let mut flows = self.flow.subscribe();
        // PostgreSQL's protocol knows no half-closed session: when one side goes, the other is let go as well.
        tokio::select! {
            result = self.pass(number, &mut client_reads, server_writes, asked) => result,
            result = self.pass(number, server_reads, &mut client_writes, answered) => result,
            Ok(_) = flows.wait_for(|flow| number <= flow.reset) => {
                // Dropped, it would say goodbye first.
                client_writes.forget();
                client_reads.as_ref().set_zero_linger()
            }
        }
    }

    /// Passes on what comes on the connection of this number, after a look at it.
    async fn pass(
        &self,
        number: u64,
        mut from: impl AsyncRead + Unpin,
        mut to: impl AsyncWrite + Unpin,
        mut look: impl FnMut(&[u8]),
    ) -> io::Result<()> {
        let mut flows = self.flow.subscribe();
        let mut buffer = vec![0; 16 * 1024];
        loop {
            let read = from.read(&mut buffer).await?;
            if read == 0 {
                return to.shutdown().await;
            }
            look(&buffer[..read]);
            let moves = flows.wait_for(|flow| number > flow.held || number <= flow.lost);
            if moves.await.is_ok_and(|flow| number > flow.lost) {
                to.write_all(&buffer[..read]).await?;
            }
        }
    }
}

/// Says to a client that it is one too many, as PostgreSQL does: after the start-up message, and after it has declined encryption
/// if that was asked for first.
async fn refuse(mut client: TcpStream) -> io::Result<()> {
    /// What the requests for encryption begin with, where the start-up message has the version of the protocol.
    const ENCRYPTION: [u8; 2] = [4, 210];

    loop {
        let mut length = [0; 4];
        client.read_exact(&mut length).await?;
        let mut rest = vec![0; (u32::from_be_bytes(length) as usize).saturating_sub(length.len())];
        client.read_exact(&mut rest).await?;
        if !rest.starts_with(&ENCRYPTION) {
            break;
        }
        client.write_all(b"N").await?;
    }
    let fields = b"SFATAL\0VFATAL\0C53300\0Msorry, too many clients already\0\0";
    let mut error = vec![b'E'];
    error.extend_from_slice(&(fields.len() as u32 + 4).to_be_bytes());
    error.extend_from_slice(fields);
    client.write_all(&error).await?;
    client.shutdown().await
}

/// Counts a connection for as long as it is there, and gives it its number.
struct Counted<'a> {
    counters: &'a Counters,
    number: u64,
    is_in_use: bool,
}

impl<'a> Counted<'a> {
    fn new(counters: &'a Counters) -> Self {
        let number = counters.opened.fetch_add(1, Ordering::Relaxed) + 1;
        counters.open.fetch_add(1, Ordering::Relaxed);
        Counted {
            counters,
            number,
            is_in_use: false,
        }
    }

    /// The server has answered.
    fn in_use(&mut self) {
        if !self.is_in_use {
            self.is_in_use = true;
            let in_use = self.counters.in_use.fetch_add(1, Ordering::Relaxed) + 1;
            self.counters.most_open.fetch_max(in_use, Ordering::Relaxed);
        }
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.counters.open.fetch_sub(1, Ordering::Relaxed);
        if self.is_in_use {
            self.counters.in_use.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// Follows the messages of a client through a byte stream that may be cut anywhere.
///
/// Before the session starts, messages have a length but no type: the start-up message, or requests for encryption
/// (which a server without TLS declines, and the start-up message follows).
#[derive(Default)]
struct Frontend {
    started: bool,
    /// The beginning of a message whose end has not come.
    begun: Vec<u8>,
}

impl Frontend {
    /// What the start-up message of protocol 3 begins with, after its length.
    const PROTOCOL_3: [u8; 2] = [0, 3];

    /// How many messages that the server answers end in these bytes.
    fn questions_in(&mut self, bytes: &[u8]) -> u64 {
        self.begun.extend_from_slice(bytes);
        let mut questions = 0;
        loop {
            let kind = usize::from(self.started);
            let Some(length) = self.begun[kind.min(self.begun.len())..].first_chunk() else {
                return questions;
            };
            // The length counts itself.
            let end = kind + (u32::from_be_bytes(*length) as usize).max(4);
            if self.begun.len() < end {
                return questions;
            }
            let message: Vec<u8> = self.begun.drain(..end).collect();
            if self.started {
                questions += u64::from(matches!(message[0], b'S' | b'Q'));
            } else {
                self.started = message[4..].starts_with(&Self::PROTOCOL_3);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::net::TcpListener;
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
    async fn connections_that_the_server_has_not_answered_are_not_counted_among_the_most()
    -> anyhow::Result<()> {
        let (upstream, proxy, port) = proxied().await?;
        let mut first = TcpStream::connect(("127.0.0.1", port)).await?;
        let (mut server, _) = upstream.accept().await?;
        server.write_all(b"R").await?;
        first.read_exact(&mut [0]).await?;
        let _unanswered = TcpStream::connect(("127.0.0.1", port)).await?;
        let _silent = upstream.accept().await?;
        let mut second = TcpStream::connect(("127.0.0.1", port)).await?;
        let (mut server, _) = upstream.accept().await?;
        server.write_all(b"R").await?;
        second.read_exact(&mut [0]).await?;
        assert_eq!((proxy.opened(), proxy.most_open()), (3, 2));
        Ok(())
    }

    #[tokio::test]
    async fn one_too_many_is_refused_after_its_start_up_message() -> anyhow::Result<()> {
        let (upstream, proxy, port) = proxied().await?;
        proxy.allow(1);
        let _first = TcpStream::connect(("127.0.0.1", port)).await?;
        let _server = upstream.accept().await?;
        let mut second = TcpStream::connect(("127.0.0.1", port)).await?;
        second.write_all(&[0, 0, 0, 8, 4, 210, 22, 47]).await?;
        let mut declined = [0; 1];
        second.read_exact(&mut declined).await?;
        second.write_all(&startup()).await?;
        let mut answer = Vec::new();
        second.read_to_end(&mut answer).await?;
        let answer = String::from_utf8_lossy(&answer);
        assert!(declined == *b"N" && answer.starts_with('E') && answer.contains("C53300"));
        assert_eq!((proxy.refused(), proxy.open()), (1, 1));
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
        assert_eq!(read, Err(io::ErrorKind::ConnectionReset));
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
