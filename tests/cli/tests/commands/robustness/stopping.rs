//! A service that is told to stop while clients go on asking: whatever it has done for one of them, it has said so.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use futures_util::future::try_join_all;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};
use workshop_postgres::datasets::DataSet;

use super::clients::request;
use super::site::Site;
use super::wire::Connection;

/// Clients, one half of which keep their connections.
const CLIENTS: usize = 16;
/// The answers after which the service is told to stop.
const ANSWERS_BEFORE: usize = 400;
/// How long it may take to end: twice the time limit of the database, and what it needs to let its clients go.
const END_WITHIN: Duration = Duration::from_secs(20);
/// Between two looks whether it has ended.
const POLL: Duration = Duration::from_millis(5);

/// What the clients share.
struct Load {
    /// The next record to visit: each is visited once.
    next: AtomicU32,
    answered: AtomicU32,
    /// Enough was answered for the service to be told.
    enough: Notify,
    told_to_stop: AtomicBool,
}

/// What a client has seen: the records whose visits were answered, and how many of them after the service was told.
#[derive(Default)]
struct Seen {
    answered: Vec<i32>,
    answered_late: usize,
    unanswered: usize,
}

/// Visits records without a pause, tells the service to stop, and compares what was answered with what was stored.
pub async fn visit_until_it_stops(site: &mut Site) -> anyhow::Result<()> {
    let load = Load {
        next: AtomicU32::new(1),
        answered: AtomicU32::new(0),
        enough: Notify::new(),
        told_to_stop: AtomicBool::new(false),
    };
    let address = site.address;
    let clients = (0..CLIENTS).map(|number| client(&load, address, number % 2 == 0));
    // A client that fails ends the wait for enough answers as well.
    let (seen, ended) = tokio::try_join!(try_join_all(clients), async {
        load.enough.notified().await;
        load.told_to_stop.store(true, Ordering::Relaxed);
        site.service.ask_to_stop();
        let asked = Instant::now();
        loop {
            match site.service.exited() {
                Some(status) => return Ok(Some(status)),
                None if asked.elapsed() > END_WITHIN => return Ok(None),
                None => sleep(POLL).await,
            }
        }
    })?;
    let late: usize = seen.iter().map(|seen| seen.answered_late).sum();
    let unanswered: usize = seen.iter().map(|seen| seen.unanswered).sum();
    let mut answered: Vec<i32> = seen.into_iter().flat_map(|seen| seen.answered).collect();
    answered.sort_unstable();
    let stored = site.visited().await?;
    println!(
        "{} visits answered, {late} of them after SIGTERM; {unanswered} not answered",
        answered.len()
    );
    let without_an_answer: Vec<&i32> = stored
        .iter()
        .filter(|id| answered.binary_search(id).is_err())
        .collect();
    anyhow::ensure!(
        without_an_answer.is_empty(),
        "these visits were stored, and nobody was told: {without_an_answer:?}"
    );
    anyhow::ensure!(stored == answered, "visits were answered and not stored");
    anyhow::ensure!(
        late > 0,
        "nothing was under way when the service was told to stop"
    );
    anyhow::ensure!(
        ended.is_some_and(|status| status.success()),
        "the service has to end with exit code 0, and not with {ended:?}"
    );
    Ok(())
}

/// Visits one record after the other until nobody accepts its connections.
async fn client(load: &Load, address: std::net::SocketAddr, keeps: bool) -> anyhow::Result<Seen> {
    let mut seen = Seen::default();
    let mut connection = Connection::new(address);
    loop {
        let id = load.next.fetch_add(1, Ordering::Relaxed);
        anyhow::ensure!(
            id <= DataSet::Small.rows(),
            "no record is left, and the service still answers"
        );
        if !keeps {
            connection = Connection::new(address);
        }
        let visit = request("POST", &format!("/records/{id}/visit"), "");
        match connection.exchange_once(visit.as_bytes(), false).await {
            Ok(answer) => {
                anyhow::ensure!(
                    answer.status == 200,
                    "status {} for the record {id}",
                    answer.status
                );
                seen.answered.push(i32::try_from(id)?);
                seen.answered_late += usize::from(load.told_to_stop.load(Ordering::Relaxed));
                if load.answered.fetch_add(1, Ordering::Relaxed) as usize == ANSWERS_BEFORE {
                    load.enough.notify_one();
                }
            }
            Err(error) if is_refused(&error) => return Ok(seen),
            // A request that nobody has read, or one on a connection that was just being closed.
            Err(_) => {
                seen.unanswered += 1;
                connection = Connection::new(address);
            }
        }
    }
}

fn is_refused(error: &anyhow::Error) -> bool {
    let kind = error.downcast_ref::<io::Error>().map(io::Error::kind);
    kind == Some(io::ErrorKind::ConnectionRefused)
}
