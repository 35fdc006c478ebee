//! The upstream: a service of prices that answers late, badly or not at all, as it is told, and counts what it is asked.

use std::collections::VecDeque;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hash};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::sync::watch;

use super::port::Port;

/// A body that is far too large, in bytes.
pub const FLOOD: u64 = 100_000_000;
/// How many of the last calls it remembers.
const REMEMBERED: usize = 64;
/// Between two bytes of an answer that drips.
const DRIP: Duration = Duration::from_millis(100);

/// What it does with each call.
#[derive(Debug, Clone, PartialEq)]
pub enum Conduct {
    /// Answers the price, with trouble now and then.
    Prices(PriceFault),
    /// Answers nothing until it is told something else; then it does that.
    Hangs,
    /// Ends the connection when it has read the request.
    HangsUp,
    /// Sends these bytes instead of an answer, and ends the connection.
    Says(Vec<u8>),
    /// Sends a body of [`FLOOD`] bytes.
    Floods,
    /// Sends the price byte by byte, too slowly for anybody.
    Drips,
}

/// How late prices come, and how often something else does.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct PriceFault {
    /// How long it waits before it answers.
    pub delay: Duration,
    /// The most that it waits besides.
    pub jitter: Duration,
    /// The share of calls that are answered with a 500.
    pub failures: f64,
    /// The share of calls on which it hangs up.
    pub hang_ups: f64,
}

impl Conduct {
    /// Answers each price at once.
    pub const WELL: Conduct = Conduct::Prices(PriceFault {
        delay: Duration::ZERO,
        jitter: Duration::ZERO,
        failures: 0.0,
        hang_ups: 0.0,
    });
}

/// What it has been asked so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Connections that were opened.
    pub opened: usize,
    /// Those that are open.
    pub open: usize,
    /// Calls, answered or not.
    pub calls: usize,
    /// Those that are under way.
    pub under_way: usize,
    /// The most that were under way at the same time.
    pub most_under_way: usize,
    /// Calls that were given up: the caller has closed the connection before the whole answer was sent.
    pub given_up: usize,
}

/// The price that it knows for an id, in cents.
pub fn cents(id: i32) -> i64 {
    100 + i64::from(id).rem_euclid(9_900)
}

/// The upstream; it is gone when this is dropped.
pub struct Upstream {
    port: Port,
    desk: Arc<UpstreamState>,
}

/// What all of its connections share.
struct UpstreamState {
    conduct: watch::Sender<Conduct>,
    counts: watch::Sender<Counts>,
    /// The heads of the last calls.
    heads: Mutex<VecDeque<String>>,
    /// Told when idle connections are to end.
    closing: watch::Sender<()>,
    random: RandomState,
}

impl Upstream {
    /// Listens on a free port of 127.0.0.1.
    pub async fn start(conduct: Conduct) -> anyhow::Result<Upstream> {
        Upstream::start_at(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), conduct).await
    }

    /// Listens on this address.
    pub async fn start_at(address: SocketAddr, conduct: Conduct) -> anyhow::Result<Upstream> {
        let desk = Arc::new(UpstreamState {
            conduct: watch::Sender::new(conduct),
            counts: watch::Sender::default(),
            heads: Mutex::default(),
            closing: watch::Sender::default(),
            random: RandomState::new(),
        });
        let serving = Arc::clone(&desk);
        let port = Port::at(address, move |connection| {
            let desk = Arc::clone(&serving);
            async move { desk.serve(connection).await }
        });
        Ok(Upstream {
            port: port.with_context(|| format!("the upstream cannot listen on {address}"))?,
            desk,
        })
    }

    /// What services know it by: their `UPSTREAM_URL`.
    pub fn url(&self) -> String {
        format!("http://{}", self.port.address())
    }

    /// From now on it does this, with the calls that hang as well.
    pub fn conduct(&self, conduct: Conduct) {
        self.desk.conduct.send_replace(conduct);
    }

    /// What it has been asked so far.
    pub fn counts(&self) -> Counts {
        *self.desk.counts.borrow()
    }

    /// The heads of the last calls, the oldest first.
    pub fn heads(&self) -> Vec<String> {
        let heads = self.desk.heads.lock();
        let heads = heads.unwrap_or_else(PoisonError::into_inner);
        heads.iter().cloned().collect()
    }

    /// From now on the most calls at the same time are counted anew.
    pub fn count_anew(&self) {
        let anew = |counts: &mut Counts| counts.most_under_way = counts.under_way;
        self.desk.counts.send_modify(anew);
    }

    /// Returns when it is so.
    pub async fn until(&self, is_so: impl Fn(&Counts) -> bool) {
        let mut counts = self.desk.counts.subscribe();
        // The sender is in `self`, so there is no end to wait for.
        let _ = counts.wait_for(|counts| is_so(counts)).await;
    }

    /// Closes all connections, and refuses others until it is back.
    pub async fn leave(&self) {
        self.port.close().await;
    }

    /// Listens again, where it did.
    pub async fn come_back(&self) {
        self.port.reopen().await;
    }

    /// Ends the connections that are idle, as servers do after a while.
    pub fn close_idle(&self) {
        self.desk.closing.send_replace(());
    }
}

/// Something that is counted until this is dropped.
struct CountedCall<'a> {
    counts: &'a watch::Sender<Counts>,
    leave: fn(&mut Counts),
}

impl<'a> CountedCall<'a> {
    fn new(
        counts: &'a watch::Sender<Counts>,
        enter: fn(&mut Counts),
        leave: fn(&mut Counts),
    ) -> CountedCall<'a> {
        counts.send_modify(enter);
        CountedCall { counts, leave }
    }
}

impl Drop for CountedCall<'_> {
    fn drop(&mut self) {
        self.counts.send_modify(self.leave);
    }
}

impl UpstreamState {
    /// Answers the calls of one connection, one after the other.
    async fn serve(&self, connection: TcpStream) -> io::Result<()> {
        let entered = |counts: &mut Counts| {
            counts.opened += 1;
            counts.open += 1;
        };
        let _open = CountedCall::new(&self.counts, entered, |counts| counts.open -= 1);
        connection.set_nodelay(true)?;
        let mut connection = BufReader::new(connection);
        let mut closing = self.closing.subscribe();
        loop {
            let call = tokio::select! {
                head = next_head(&mut connection) => head?,
                _ = closing.changed() => {
                    connection.shutdown().await?;
                    // It is closed when the other side has closed it as well.
                    tokio::io::copy(&mut connection, &mut tokio::io::sink()).await?;
                    None
                }
            };
            let Some(head) = call else { return Ok(()) };
            let id = asked_for(&head);
            self.remember(head);
            if !self.answer(&mut connection, id).await? {
                return Ok(());
            }
        }
    }

    fn remember(&self, head: String) {
        let mut heads = self.heads.lock().unwrap_or_else(PoisonError::into_inner);
        if heads.len() == REMEMBERED {
            heads.pop_front();
        }
        heads.push_back(head);
    }

    /// Does what it is told with a call. Returns whether the connection may have another.
    async fn answer(&self, connection: &mut BufReader<TcpStream>, id: i32) -> io::Result<bool> {
        let entered = |counts: &mut Counts| {
            counts.calls += 1;
            counts.under_way += 1;
            counts.most_under_way = counts.most_under_way.max(counts.under_way);
        };
        let _call = CountedCall::new(&self.counts, entered, |counts| counts.under_way -= 1);
        let call = self.counts.borrow().calls;
        let mut conduct = self.conduct.subscribe();
        let acting = async {
            // The sender is in `self`.
            let told = conduct.wait_for(|conduct| *conduct != Conduct::Hangs).await;
            told.map_or(Conduct::WELL, |conduct| conduct.clone())
        };
        let Some(conduct) = unless_given_up(connection, acting).await else {
            return self.given_up();
        };
        let sent = match conduct {
            Conduct::Prices(trouble) => return self.price(connection, id, trouble, call).await,
            Conduct::Hangs | Conduct::HangsUp => Ok(()),
            Conduct::Says(bytes) => connection.write_all(&bytes).await,
            Conduct::Floods => flood(connection).await,
            Conduct::Drips => drip(connection, &answer("200 OK", &price(id))).await,
        };
        match sent {
            Ok(()) => Ok(false),
            Err(_broken) => self.given_up(),
        }
    }

    async fn price(
        &self,
        connection: &mut BufReader<TcpStream>,
        id: i32,
        trouble: PriceFault,
        call: usize,
    ) -> io::Result<bool> {
        let wait = trouble.delay + trouble.jitter.mul_f64(self.share((call, "jitter")));
        if !wait.is_zero()
            && unless_given_up(connection, tokio::time::sleep(wait))
                .await
                .is_none()
        {
            return self.given_up();
        }
        if self.share((call, "hang-up")) < trouble.hang_ups {
            return Ok(false);
        }
        let answer = match self.share((call, "failure")) < trouble.failures {
            true => answer("500 Internal Server Error", ""),
            false => answer("200 OK", &price(id)),
        };
        connection.write_all(&answer).await?;
        Ok(true)
    }

    fn given_up(&self) -> io::Result<bool> {
        self.counts.send_modify(|counts| counts.given_up += 1);
        Ok(false)
    }

    /// A random number from 0 to 1.
    fn share(&self, of: impl Hash) -> f64 {
        self.random.hash_one(of) as f64 / u64::MAX as f64
    }
}

fn price(id: i32) -> String {
    format!(r#"{{"id":{id},"cents":{}}}"#, cents(id))
}

/// An answer with this body.
pub fn answer(status: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

/// Reads a request up to its empty line; nothing at the end of the connection.
pub(crate) async fn next_head(connection: &mut BufReader<TcpStream>) -> io::Result<Option<String>> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        if connection.read_until(b'\n', &mut head).await? == 0 {
            return Ok(None);
        }
    }
    Ok(Some(String::from_utf8_lossy(&head).into_owned()))
}

/// The id at the end of the path; 0 where there is none.
fn asked_for(head: &str) -> i32 {
    let path = head.split(' ').nth(1).unwrap_or_default();
    let id = path.rsplit('/').next().and_then(|id| id.parse().ok());
    id.unwrap_or_default()
}

/// What comes of it, or nothing when the caller closes the connection before.
async fn unless_given_up<T>(
    connection: &mut BufReader<TcpStream>,
    work: impl Future<Output = T>,
) -> Option<T> {
    let closed = async {
        // Callers send nothing before they have their answer.
        let _ = connection.fill_buf().await;
    };
    tokio::select! {
        biased;
        done = work => Some(done),
        () = closed => None,
    }
}

async fn flood(connection: &mut BufReader<TcpStream>) -> io::Result<()> {
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {FLOOD}\r\n\r\n");
    connection.write_all(head.as_bytes()).await?;
    tokio::io::copy(&mut tokio::io::repeat(b' ').take(FLOOD), connection).await?;
    Ok(())
}

async fn drip(connection: &mut BufReader<TcpStream>, bytes: &[u8]) -> io::Result<()> {
    for byte in bytes {
        connection.write_all(&[*byte]).await?;
        let pause = tokio::time::sleep(DRIP);
        if unless_given_up(connection, pause).await.is_none() {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
    }
    Ok(())
}
