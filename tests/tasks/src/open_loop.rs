//! An open loop beside something that happens to the services: a request is sent when it is due, whatever became of the others, and its
//! time counts from then. Clients that wait for an answer before they send the next request would send next to nothing in an outage.

use std::time::{Duration, Instant};

use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::time::{MissedTickBehavior, interval};

use workshop_harness::http::Client;

/// Each request with this number, and each multiple of it, is a visit. The others are reads.
const VISIT: u32 = 5;
/// The records that are asked for.
const RECORDS: u32 = 5000;

/// What became of the requests.
#[derive(Default)]
pub struct Seen {
    pub asked: u32,
    pub lost: u32,
    pub longest: Duration,
}

/// Asks at a constant rate until something has happened, and until each request is answered. `ask` says whether the answer was the right
/// one.
pub async fn beside(
    rate: f64,
    happens: impl Future<Output = anyhow::Result<()>>,
    ask: impl AsyncFn(u32) -> bool,
) -> anyhow::Result<Seen> {
    let mut due = interval(Duration::from_secs_f64(1.0 / rate));
    due.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let timed = async |number: u32, due: Instant| (ask(number).await, due.elapsed());
    let mut under_way = FuturesUnordered::new();
    let mut seen = Seen::default();
    let mut happens = std::pin::pin!(happens);
    let mut has_happened = false;
    while !has_happened || !under_way.is_empty() {
        tokio::select! {
            when = due.tick(), if !has_happened => {
                seen.asked += 1;
                under_way.push(timed(seen.asked, when.into_std()));
            }
            Some((worked, took)) = under_way.next() => {
                seen.lost += u32::from(!worked);
                seen.longest = seen.longest.max(took);
            }
            result = &mut happens, if !has_happened => {
                result?;
                has_happened = true;
            }
        }
    }
    Ok(seen)
}

/// Whether a service answers the request of this number with 200: a visit or a read, spread over the records, so that two visits of the
/// same one rarely meet.
pub async fn works(client: &Client, number: u32) -> bool {
    let id = 1 + number.wrapping_mul(2_654_435_761) % RECORDS;
    let answer = match number % VISIT {
        0 => client.post(&format!("/records/{id}/visit")).await,
        _ => client.get(&format!("/read/{id}")).await,
    };
    answer.is_ok_and(|answer| answer.status() == 200)
}
