//! An incident, watched: a service with a fault under a load of reads, pages and prices, of which nothing is kept but what it has told the
//! collector.

use std::time::Duration;

use anyhow::{anyhow, bail, ensure};
use futures_util::future::join_all;
use tokio::time::{Instant, sleep};

use super::{Place, stage};
use crate::service::collector::{Collector, Received};
use crate::service::traces::{self, Tick, Trace, milliseconds};
use crate::service::upstream::{Conduct, PriceFault, Upstream};
use crate::service::{PriceSettings, Settings, TelemetrySettings};
use workshop_requests::http::Client;

/// `DATABASE_TIMEOUT_MS`: longer than any request waits here.
const DATABASE_TIMEOUT: Duration = Duration::from_secs(4);
/// The supplier's own time for a price. The service may ask for more prices at a time than there are clients.
const SUPPLIER: PriceFault = PriceFault {
    delay: Duration::from_millis(80),
    jitter: Duration::from_millis(40),
    failures: 0.0,
    hang_ups: 0.0,
};
const CALLS: u16 = 16;
/// The paths, the number of clients of each, and the pause of a client between two requests: so few spans that none are dropped.
const CLIENTS: [(&str, usize, Duration); 3] = [
    ("/read/", 3, Duration::from_millis(60)),
    ("/records?limit=50&after=", 2, Duration::from_millis(250)),
    ("/price/", 10, Duration::from_millis(20)),
];
/// The routes of these requests.
const ROUTES: [&str; 3] = ["/read/{id}", "/records", "/price/{id}"];
/// How often the metrics are looked at, and how many exports of them lie between two looks.
const TICKS: usize = 9;
const PUSHES: usize = 2;
/// The maximum time to wait for an export.
const PATIENCE: Duration = Duration::from_secs(5);
/// A span that takes longer than this is slow: a query takes a millisecond.
const SLOW: f64 = 60.0;
/// More queries than a request of this service has normally.
const MANY: usize = 10;
/// A fault shows in at least so many traces.
const FEWEST_SHOWING: usize = 5;
/// And in so many times as many as of a healthy service: on a busy machine that has some slow requests, too.
const AT_LEAST_TIMES: usize = 5;

/// The traces and metrics that a service has sent to the collector.
pub struct Incident {
    /// All requests that were answered.
    pub traces: Vec<Trace>,
    ticks: Vec<Tick>,
}

/// Whether so many traces of a service with a fault, and so many of a healthy one, show the fault.
pub fn tells_them_apart(faulty: usize, healthy: usize) -> bool {
    faulty >= FEWEST_SHOWING && faulty >= AT_LEAST_TIMES * healthy
}

/// Starts the service, sends it requests for some seconds, and stops it.
pub async fn watch(place: &Place<'_>) -> anyhow::Result<Incident> {
    let supplier = Conduct::Prices(SUPPLIER);
    let (upstream, collector) = tokio::try_join!(Upstream::start(supplier), Collector::start())?;
    let settings = Settings {
        log_level: "warn".to_owned(),
        prices: Some(PriceSettings {
            limit: CALLS,
            wait: DATABASE_TIMEOUT,
            deadline: DATABASE_TIMEOUT,
            ..PriceSettings::new(upstream.url())
        }),
        telemetry: Some(TelemetrySettings::new(collector.url())),
        ..stage::settings(DATABASE_TIMEOUT)
    };
    let stage = place.stage_with(settings).await?;
    let ticks = tokio::select! {
        ticks = ticks(&collector) => ticks?,
        () = load(&stage.client) => bail!("clients that never end have ended"),
    };
    // Spans arrive in order: when this request has arrived, all others have.
    let last = format!("{:032x}", stage.service.pid());
    let header = format!("00-{last}-00000000000000aa-01");
    let client = stage.client.with("traceparent", Some(&header));
    let answered = client.get("/health").await;
    answered.map_err(|failure| anyhow!("the service no longer answers: {failure}"))?;
    let has_come = |received: &Received| !received.of_trace(&last).is_empty();
    ensure!(
        collector.until(PATIENCE, has_come).await,
        "the last spans don't arrive"
    );
    let mut traces = collector.seen(|received| traces::traces(&received.spans));
    let names = ROUTES.map(|route| format!("GET {route}"));
    traces.retain(|trace| names.contains(&trace.root.name));
    for leaving in stage.leaves_with(Vec::new()).leaving {
        leaving.await?;
    }
    Ok(Incident { traces, ticks })
}

/// Looks at the metrics again and again.
async fn ticks(collector: &Collector) -> anyhow::Result<Vec<Tick>> {
    let (begun, mut ticks) = (Instant::now(), Vec::new());
    let before = collector.seen(|received| received.pushes);
    for tick in 1..=TICKS {
        let wanted = before + tick * PUSHES;
        let has_come = |received: &Received| received.pushes >= wanted;
        ensure!(
            collector.until(PATIENCE, has_come).await,
            "the service sends no metrics"
        );
        let at = begun.elapsed().as_secs_f64();
        ticks.push(collector.seen(|received| Tick::of(at, &received.series)));
    }
    Ok(ticks)
}

/// All clients, until this is dropped.
async fn load(client: &Client) {
    let clients = CLIENTS.iter().flat_map(|(path, count, pause)| {
        (0..*count).map(move |first| keep_asking(client, path, first, *pause))
    });
    join_all(clients).await;
}

async fn keep_asking(client: &Client, path: &str, first: usize, pause: Duration) {
    for id in (first * 100 + 1..).step_by(7) {
        // Its trace shows how it went.
        let _ = client.get(&format!("{path}{}", id % 9_000 + 1)).await;
        sleep(pause).await;
    }
}

impl Incident {
    /// The traces that show the fault of this name, by their ids. See [`tells_them_apart`].
    pub fn showing(&self, fault: &str) -> anyhow::Result<Vec<String>> {
        let shows: fn(&Trace) -> bool = match fault {
            "held" => waits_for_a_connection,
            "in-turn" => calls_late,
            "one-by-one" => asks_for_each,
            _ => bail!("there is no check for the fault {fault}"),
        };
        let showing = self.traces.iter().filter(|trace| shows(trace));
        Ok(showing.map(|trace| trace.root.trace.clone()).collect())
    }

    /// The printed summary: spans by their durations, the metrics over time, and of each route the slowest request.
    pub fn summary(&self) -> String {
        let mut text = format!(
            "spans by request:\n{}\nmetrics over time: of each route the requests per second and their mean,\n\
             of the pool the connections in use (#), those that are free (.), and the requests that wait (w):\n{}\n",
            traces::by_span(&self.traces),
            traces::over_time(&self.ticks, &ROUTES)
        );
        for route in ROUTES {
            let slowest = self.slowest(route, 1);
            text.extend(slowest.into_iter().map(|trace| trace.drawn() + "\n"));
        }
        text
    }

    /// The slowest requests to each route, and the median one.
    pub fn details(&self) -> String {
        const SLOWEST: usize = 8;
        let mut text = String::new();
        for route in ROUTES {
            let all = self.slowest(route, usize::MAX);
            let slowest = all.iter().take(SLOWEST);
            text.extend(slowest.map(|trace| trace.drawn() + "\n"));
            if let Some(typical) = all.get(all.len() / 2) {
                text += &format!("half of the requests to {route} were faster than this one:\n");
                text += &(typical.drawn() + "\n");
            }
        }
        text
    }

    fn slowest(&self, route: &str, most: usize) -> Vec<&Trace> {
        let name = format!("GET {route}");
        let of_route = self.traces.iter().filter(|trace| trace.root.name == name);
        let mut of_route: Vec<&Trace> = of_route.collect();
        of_route.sort_by(|a, b| milliseconds(&b.root).total_cmp(&milliseconds(&a.root)));
        of_route.truncate(most);
        of_route
    }
}

fn waits_for_a_connection(trace: &Trace) -> bool {
    let mut below = trace.below.iter();
    below.any(|span| span.name == "pool.acquire" && milliseconds(span) > SLOW)
}

/// The call begins long after everything else has ended.
fn calls_late(trace: &Trace) -> bool {
    let Some(call) = trace
        .below
        .iter()
        .position(|span| span.name.starts_with("GET"))
    else {
        return false;
    };
    let call = &trace.below[call];
    let others = trace.below.iter().filter(|span| span.id != call.id);
    let ended = others
        .map(|span| span.end)
        .max()
        .unwrap_or(trace.root.start);
    call.start.saturating_sub(ended) as f64 / 1e6 > SLOW
}

fn asks_for_each(trace: &Trace) -> bool {
    let mut below = trace.below.iter();
    below
        .by_ref()
        .filter(|span| span.name.starts_with("SELECT"))
        .count()
        > MANY
}

#[cfg(test)]
mod tests {
    use super::tells_them_apart;

    #[test]
    fn a_busy_machine_looks_like_no_fault() {
        assert!(tells_them_apart(177, 10));
        assert!(
            tells_them_apart(6, 0),
            "few pages are asked for in the time"
        );
        assert!(!tells_them_apart(4, 0), "too few");
        assert!(!tells_them_apart(40, 12), "both are slow");
    }
}
