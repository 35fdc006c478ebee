//! The load of exercise 13: peers that talk with one another through a service. They live in a process of their own, which the
//! tool starts and which is the tool as well, so that what it takes of the machine can be told from what the service takes.
//!
//! The process reads an [`PeerLoadOrder`] per line and answers each with a [`PeerLoadReport`]. All its peers have the same clock: what a message is
//! late by is measured from the moment before it is sent to the moment after it has arrived.

use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::Context;
use futures_util::future::try_join_all;
use futures_util::{SinkExt, StreamExt};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines, stdin};
use tokio::net::TcpStream;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::{WebSocketStream, client_async};
use workshop_base::{process, wait};
use workshop_results::statistics::quantile;

/// How long the last messages may take to arrive.
const STRAGGLERS: Duration = Duration::from_secs(5);
/// The longest that any connection may take to open.
const OPENED_WITHIN: Duration = Duration::from_secs(30);
/// The command of the tool that [`play`]s.
pub const COMMAND: &str = "play-peers";

/// What the peers are to do.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum PeerLoadOrder {
    /// This many of them connect, all at once.
    Connect(usize),
    /// For so many seconds, each of them sends a message to itself, and the next one when it has arrived.
    Closed(f64),
    /// Each of them sends so many messages per second to another one, for so many seconds.
    Open(f64, f64),
    /// All of them leave at once, without a goodbye.
    Leave,
}

/// What came of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct PeerLoadReport {
    /// From the order to the report.
    pub took_s: f64,
    /// Messages that were sent, and those that arrived.
    pub sent: u64,
    pub arrived: u64,
    /// From sending to arrival.
    pub p50_ms: Option<f64>,
    pub p99_ms: Option<f64>,
    /// How much later than planned 99 of 100 messages were sent at most: the load's own fault.
    pub p99_late_ms: Option<f64>,
    /// Sockets that ended by themselves.
    pub lost: usize,
}

/// The peers, as the tool sees them.
pub struct PeerLoad {
    child: Child,
    orders: ChildStdin,
    reports: Lines<BufReader<ChildStdout>>,
}

impl PeerLoad {
    /// Starts the process. It ends with this.
    pub fn start(base_url: &str, key: &str) -> anyhow::Result<PeerLoad> {
        let tool = std::env::current_exe().context("the tool cannot find its own program")?;
        let mut child = Command::new(tool)
            .args([COMMAND, base_url])
            .env("API_KEY", key)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let orders = child.stdin.take().context("no way to give orders")?;
        let reports = child.stdout.take().context("no way to get reports")?;
        Ok(PeerLoad {
            child,
            orders,
            reports: BufReader::new(reports).lines(),
        })
    }

    /// Has an order carried out.
    pub async fn order(&mut self, order: PeerLoadOrder) -> anyhow::Result<PeerLoadReport> {
        let line = serde_json::to_string(&order)? + "\n";
        self.orders.write_all(line.as_bytes()).await?;
        let report = self.reports.next_line().await?;
        let report = report.context("the peers have ended; what they said is above")?;
        serde_json::from_str(&report).context("a report that cannot be read")
    }

    /// The CPU time of the process so far.
    pub fn cpu(&self) -> Option<Duration> {
        process::cpu(&[self.child.id()?])
    }
}

type PeerSocket = WebSocketStream<TcpStream>;

/// Plays the peers, as the orders on standard input say, until they end.
pub async fn play(base_url: &str) -> anyhow::Result<()> {
    let key = std::env::var("API_KEY").context("API_KEY is not set")?;
    let address = base_url.trim_start_matches("http://");
    let mut sockets: Vec<PeerSocket> = Vec::new();
    // A service may still know those who have just left, so the next ones have other names.
    let mut crowd = 0;
    let mut orders = BufReader::new(stdin()).lines();
    while let Some(line) = orders.next_line().await? {
        let began = Instant::now();
        let mut report = PeerLoadReport::default();
        match serde_json::from_str(&line)? {
            PeerLoadOrder::Connect(peers) => {
                crowd += 1;
                let opening = (0..peers).map(|peer| open(address, &key, name(crowd, peer)));
                sockets = try_join_all(opening).await?;
            }
            PeerLoadOrder::Closed(seconds) => {
                (sockets, report) =
                    talk(sockets, crowd, None, Duration::from_secs_f64(seconds)).await;
            }
            PeerLoadOrder::Open(rate, seconds) => {
                let period = Duration::from_secs_f64(1.0 / rate);
                let length = Duration::from_secs_f64(seconds);
                (sockets, report) = talk(sockets, crowd, Some(period), length).await;
            }
            PeerLoadOrder::Leave => sockets.clear(),
        }
        report.took_s = began.elapsed().as_secs_f64();
        println!("{}", serde_json::to_string(&report)?);
    }
    Ok(())
}

fn name(crowd: usize, peer: usize) -> String {
    format!("peer-{crowd}-{peer}")
}

async fn open(address: &str, key: &str, name: String) -> anyhow::Result<PeerSocket> {
    let opening = async {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let mut request = format!("ws://{address}/peers/{name}").into_client_request()?;
        request.headers_mut().insert("X-API-Key", key.parse()?);
        let (socket, _response) = client_async(request, stream).await?;
        Ok::<_, anyhow::Error>(socket)
    };
    let opened = timeout(OPENED_WITHIN, opening).await;
    opened
        .unwrap_or_else(|elapsed| Err(elapsed.into()))
        .with_context(|| format!("{name} cannot connect"))
}

/// What all peers of a conversation share.
struct SharedCounts {
    began: Instant,
    /// When the last message is sent.
    end: Instant,
    sent: AtomicU64,
    arrived: AtomicU64,
}

impl SharedCounts {
    fn all_have_arrived(&self) -> bool {
        self.arrived.load(Ordering::Relaxed) >= self.sent.load(Ordering::Relaxed)
    }
}

/// What one peer has seen: times in microseconds.
#[derive(Default)]
struct Received {
    latencies: Vec<u32>,
    late: Vec<u32>,
    lost: bool,
}

/// Has all peers talk: each to another one, one message per period; or each to itself, one after the other.
async fn talk(
    sockets: Vec<PeerSocket>,
    crowd: usize,
    period: Option<Duration>,
    length: Duration,
) -> (Vec<PeerSocket>, PeerLoadReport) {
    let began = Instant::now();
    let shared = Arc::new(SharedCounts {
        began,
        end: began + length,
        sent: AtomicU64::new(0),
        arrived: AtomicU64::new(0),
    });
    let (stop, stopped) = watch::channel(false);
    let peers = sockets.len();
    let mut talking = JoinSet::new();
    for (peer, socket) in sockets.into_iter().enumerate() {
        let shared = Arc::clone(&shared);
        let stopped = stopped.clone();
        let script = match period {
            // Spread over the period, so that they do not all send at once.
            Some(period) => Script {
                to: name(crowd, (peer + peers / 2) % peers),
                first: began + period.mul_f64(peer as f64 / peers as f64),
                period: Some(period),
            },
            None => Script {
                to: name(crowd, peer),
                first: began,
                period: None,
            },
        };
        talking.spawn(async move {
            let (socket, seen) = converse(socket, script, &shared, stopped).await;
            (peer, socket, seen)
        });
    }
    sleep_until(shared.end).await;
    // Whether they have all come, the report says.
    let _ = wait::within(STRAGGLERS, async || shared.all_have_arrived().then_some(())).await;
    stop.send_replace(true);
    let mut ended = talking.join_all().await;
    ended.sort_unstable_by_key(|(peer, _, _)| *peer);
    let (mut latencies, mut late, mut lost) = (Vec::new(), Vec::new(), 0);
    let mut sockets = Vec::new();
    for (_, socket, seen) in ended {
        sockets.push(socket);
        latencies.extend(seen.latencies.into_iter().map(milliseconds));
        late.extend(seen.late.into_iter().map(milliseconds));
        lost += usize::from(seen.lost);
    }
    latencies.sort_by(f64::total_cmp);
    late.sort_by(f64::total_cmp);
    let report = PeerLoadReport {
        took_s: 0.0,
        sent: shared.sent.load(Ordering::Relaxed),
        arrived: shared.arrived.load(Ordering::Relaxed),
        p50_ms: quantile(&latencies, 0.5),
        p99_ms: quantile(&latencies, 0.99),
        p99_late_ms: quantile(&late, 0.99),
        lost,
    };
    (sockets, report)
}

fn milliseconds(microseconds: u32) -> f64 {
    f64::from(microseconds) / 1e3
}

/// To whom a peer sends, and when: without a period, when the message before has arrived.
struct Script {
    to: String,
    first: Instant,
    period: Option<Duration>,
}

async fn converse(
    mut socket: PeerSocket,
    script: Script,
    shared: &SharedCounts,
    mut stopped: watch::Receiver<bool>,
) -> (PeerSocket, Received) {
    let mut seen = Received::default();
    let mut due = Some(script.first);
    loop {
        let sending = async {
            match due {
                Some(due) if due < shared.end => sleep_until(due).await,
                _ => std::future::pending().await,
            }
        };
        tokio::select! {
            () = sending => {
                let now = Instant::now();
                if let Some(due) = due {
                    seen.late.push(micros(now.saturating_duration_since(due)));
                }
                due = due.zip(script.period).map(|(due, period)| due + period);
                let sent = micros(now.duration_since(shared.began)).to_string();
                let message = json!({"to": script.to, "text": sent});
                shared.sent.fetch_add(1, Ordering::Relaxed);
                if socket.send(Message::Text(message.to_string())).await.is_err() {
                    seen.lost = true;
                    return (socket, seen);
                }
            }
            event = socket.next() => match event {
                Some(Ok(Message::Text(text))) => {
                    let now = micros(shared.began.elapsed());
                    // Anything else, a complaint for example, has not arrived.
                    if let Some(sent) = sent_at(&text) {
                        seen.latencies.push(now.saturating_sub(sent));
                        shared.arrived.fetch_add(1, Ordering::Relaxed);
                    }
                    if script.period.is_none() {
                        due = Some(Instant::now());
                    }
                }
                Some(Ok(_)) => {}
                Some(Err(_)) | None => {
                    seen.lost = true;
                    return (socket, seen);
                }
            },
            () = told(&mut stopped) => return (socket, seen),
        }
    }
}

/// Returns when the conversation is over.
async fn told(stopped: &mut watch::Receiver<bool>) {
    // Without a sender, it is over as well.
    let _ = stopped.wait_for(|stopped| *stopped).await;
}

/// When the message was sent, in microseconds from the beginning.
fn sent_at(json: &str) -> Option<u32> {
    let message: Value = serde_json::from_str(json).ok()?;
    message["text"].as_str()?.parse().ok()
}

fn micros(duration: Duration) -> u32 {
    u32::try_from(duration.as_micros()).unwrap_or(u32::MAX)
}
