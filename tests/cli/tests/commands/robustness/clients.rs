//! Clients that take their time: each kind may hold up nobody else, cost little memory, and leave nothing behind.

use std::time::Duration;

use anyhow::Context;
use futures_util::future::try_join_all;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};
use workshop_base::process;
use workshop_harness::failure::Failure;
use workshop_harness::service::Service;

use super::site::Site;
use super::wire::{answer, connect_with_little_room};

/// Clients that read slowly, of each kind.
const SLOW_READERS: usize = 20;
/// Answers that one of them asks for at once, a hundred kilobytes each. Ktor works on all of them at the same time.
const PAGES: usize = 5;
/// Clients that send slowly, of each kind.
const SLOW_SENDERS: usize = 100;
/// The bytes that they send one by one.
const SLOW_BYTES: usize = 24;
/// Clients that have asked something and stay connected.
const IDLE: usize = 500;
/// What others ask for meanwhile.
const READS: u32 = 50;
/// What all slow or idle clients together may cost, in kB: two hundred for each that is idle.
const MEMORY: u64 = 100_000;
/// Descriptors that come and go by themselves: connections to the database, a file that is being read.
const OTHER_DESCRIPTORS: usize = 15;
/// How soon an answer begins: an export may wait for the end of others first.
const BEGUN_WITHIN: Duration = Duration::from_secs(15);
/// How long a service may need to notice that clients have gone.
const GONE_WITHIN: Duration = Duration::from_secs(5);
/// Between two looks at something that cannot be awaited.
const POLL: Duration = Duration::from_millis(10);

/// Exports and pages that nobody takes.
pub async fn read_slowly(site: &Site) -> anyhow::Result<()> {
    let before = Footprint::of(&site.service);
    let exports = (0..SLOW_READERS).map(|_| ask_and_stall(site, "/records/export", 1));
    let pages = (0..SLOW_READERS).map(|_| ask_and_stall(site, "/records?limit=1000", PAGES));
    let (exports, pages) = tokio::join!(try_join_all(exports), try_join_all(pages));
    let stalled = (exports?, pages?);

    others_are_served(site).await?;
    before.expect_bounded_memory(&site.service)?;
    drop(stalled);
    before.expect_descriptors_back(&site.service).await?;

    // Those that waited for their turn, and those that had it, are gone: the next export is whole.
    let export = site.client.download("/records/export").await;
    let mut export = export.map_err(anyhow::Error::msg)?;
    export
        .expect_status(200)
        .await
        .map_err(anyhow::Error::msg)?;
    let last_line = export.rest().await.map_err(anyhow::Error::msg)?.last_line;
    anyhow::ensure!(last_line.ends_with(b"}\n") && !last_line.ends_with(b"in time\"}\n"));
    Ok(())
}

/// Asks for this so many times, waits until the first answer has begun, and reads no more.
async fn ask_and_stall(site: &Site, path: &str, times: usize) -> anyhow::Result<TcpStream> {
    let mut stream = connect_with_little_room(site.address).await?;
    let requests = request("GET", path, "").repeat(times);
    stream.write_all(requests.as_bytes()).await?;
    let first = timeout(BEGUN_WITHIN, stream.read_u8()).await;
    let first = first.with_context(|| format!("no answer to {path} has begun in time"))?;
    anyhow::ensure!(first? == b'H', "an answer that is no HTTP");
    Ok(stream)
}

/// Requests whose last bytes come one by one, in the head or in the body; and some that never end.
pub async fn send_slowly(site: &Site) -> anyhow::Result<()> {
    let before = Footprint::of(&site.service);
    let requests = [
        request("GET", "/read/1", ""),
        request("POST", "/visits", "{\"ids\":[1,2,3,4,5,6,7,8,9]}"),
    ];
    let senders = requests.iter().flat_map(|request| {
        let start = request.len() - SLOW_BYTES;
        (0..SLOW_SENDERS).map(move |_| begin(site, &request.as_bytes()[..start]))
    });
    let mut senders = try_join_all(senders).await?;
    let never_end = (0..SLOW_SENDERS).map(|_| begin(site, b"GET /read/1 HTTP/1.1\r\nX-Slow: "));
    let never_end = try_join_all(never_end).await?;

    others_are_served(site).await?;
    for byte in 0..SLOW_BYTES {
        for (number, sender) in senders.iter_mut().enumerate() {
            let request = requests[number / SLOW_SENDERS].as_bytes();
            let place = request.len() - SLOW_BYTES + byte;
            sender.write_all(&request[place..=place]).await?;
        }
        one_is_served(site, 1 + byte as u32).await?;
    }
    for sender in &mut senders {
        let answer = answer(sender, &mut Vec::new(), false).await?;
        anyhow::ensure!(answer.status == 200, "status {} at the end", answer.status);
    }
    before.expect_bounded_memory(&site.service)?;
    drop((senders, never_end));
    before.expect_descriptors_back(&site.service).await
}

async fn begin(site: &Site, start: &[u8]) -> anyhow::Result<TcpStream> {
    let mut stream = TcpStream::connect(site.address).await?;
    stream.set_nodelay(true)?;
    stream.write_all(start).await?;
    Ok(stream)
}

/// Connections that are kept, with nothing to do.
pub async fn stay_idle(site: &Site) -> anyhow::Result<()> {
    let before = Footprint::of(&site.service);
    let health = request("GET", "/health", "");
    let mut idle = Vec::new();
    for _ in 0..IDLE {
        idle.push(TcpStream::connect(site.address).await?);
    }
    for round in ["at first", "after a rest"] {
        for stream in &mut idle {
            stream.write_all(health.as_bytes()).await?;
            let answer = answer(stream, &mut Vec::new(), false).await;
            let answer = answer.with_context(|| format!("no answer {round}"))?;
            anyhow::ensure!(answer.status == 200, "status {} {round}", answer.status);
        }
        others_are_served(site).await?;
    }
    before.expect_bounded_memory(&site.service)?;
    drop(idle);
    before.expect_descriptors_back(&site.service).await
}

/// A request with a key.
pub fn request(method: &str, path: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\nX-API-Key: valid_key\r\n\
         Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    )
}

/// Others get their answers, each in the time that every answer may take.
async fn others_are_served(site: &Site) -> anyhow::Result<()> {
    for id in 1..=READS {
        one_is_served(site, id).await?;
    }
    Ok(())
}

async fn one_is_served(site: &Site, id: u32) -> anyhow::Result<()> {
    let served = async {
        let answer = site.client.get(&format!("/read/{id}")).await?;
        answer.expect_status(200).map(drop)
    };
    served
        .await
        .map_err(|failure: Failure| anyhow::Error::msg(failure).context("somebody else"))
}

/// What a service holds.
struct Footprint {
    memory: Option<u64>,
    descriptors: Option<usize>,
}

impl Footprint {
    /// None of it where the system does not tell.
    fn of(service: &Service) -> Self {
        let memory = process::memory(service.pid());
        Footprint {
            memory: memory.and_then(|memory| memory.pss_kb),
            descriptors: process::open_files(service.pid()),
        }
    }

    fn expect_bounded_memory(&self, service: &Service) -> anyhow::Result<()> {
        let now = Footprint::of(service);
        println!(
            "{}: {:?} kB, before {:?} kB",
            service.label(),
            now.memory,
            self.memory
        );
        if let (Some(before), Some(now)) = (self.memory, now.memory) {
            anyhow::ensure!(
                now <= before + MEMORY,
                "memory grew from {before} kB to {now} kB"
            );
        }
        Ok(())
    }

    /// Waits until the connections of the clients are gone.
    async fn expect_descriptors_back(&self, service: &Service) -> anyhow::Result<()> {
        let deadline = Instant::now() + GONE_WITHIN;
        while let (Some(before), Some(now)) = (self.descriptors, Footprint::of(service).descriptors)
            && now > before + OTHER_DESCRIPTORS
        {
            anyhow::ensure!(
                Instant::now() < deadline,
                "{before} descriptors before, {now} when the clients had gone"
            );
            sleep(POLL).await;
        }
        Ok(())
    }
}
