//! Waiting for others (exercise 14): thousands of clients ask for prices, and the service that knows them takes its time. Where
//! do threads, virtual threads, coroutines and tasks part?

use std::time::Duration;

use async_trait::async_trait;
use serde::Deserialize;

use workshop_base::outcome::Trouble;
use workshop_base::{open_files, process};
use workshop_harness::jdk;
use workshop_harness::service::{PriceSettings, Service};
use workshop_harness::upstream::{Conduct, PriceFault, Upstream};
use workshop_measure::protocol::block::{Loads, Observed, Reading, watched};
use workshop_measure::protocol::experiment::{Asked, Experiment, ids, pairs};
use workshop_measure::protocol::lab::Lab;
use workshop_measure::protocol::session::Session;
use workshop_measure::protocol::subject::Subject;
use workshop_measure::protocol::{ids, metrics, plan};
use workshop_measure::tables::add_steps;
use workshop_measure::tools::oha::{Load, Order};
use workshop_results::file::ResultFile;
use workshop_results::key::{
    At, CPU, CPU_SATURATED, Key, MEMORY, MEMORY_PER_WAITING, P99, P99_SATURATED, THREADS,
    THROUGHPUT,
};

/// No limit of the services comes near: what is measured is how they wait, not how they refuse.
const NO_LIMIT: Duration = Duration::from_secs(60);
/// More calls than clients.
const CALLS: u16 = 10_000;
/// The variable by which the Kotlin service is told how to wait, and the JDK from which on it has virtual threads.
const WAITING: &str = "UPSTREAM_WAITING";
const WITH_VIRTUAL_THREADS: u32 = 21;

/// How many clients wait, how late prices come (in milliseconds), and the rate that every side is offered at every delay.
#[derive(Deserialize)]
struct Extent {
    clients: u32,
    delays: Vec<u64>,
    rate: f64,
}

/// Measures a target and Kotlin in its ways to wait.
pub async fn measure(lab: &Lab<'_>, asked: &Asked) -> anyhow::Result<ResultFile> {
    let Extent {
        clients,
        delays,
        rate,
    } = plan::extent("waiting", asked.mode)?;
    // Each client is a connection in the generator and in the service, and each of its calls is one in the service and in the
    // upstream, which is this process. Some of them may be closing still.
    open_files::allow_sockets(2 * clients as usize + 500, &format!("{clients} clients"))?;
    check_ports(clients)?;

    let mut experiment = Experiment::begin(lab, asked, &asked.task).await?;
    if jdk::find(jdk::OLDEST, jdk::KOTLIN)?.feature() < WITH_VIRTUAL_THREADS {
        experiment
            .subjects
            .retain(|subject| !waits_virtually(subject));
        experiment.notes.push(format!(
            "no row of virtual threads: they need a JDK from {WITH_VIRTUAL_THREADS} on"
        ));
    }
    let upstream = Upstream::start(Conduct::WELL).await?;
    experiment.session.timeout = NO_LIMIT / 2;
    experiment.session.prices = Some(PriceSettings {
        limit: CALLS,
        wait: NO_LIMIT,
        timeout: NO_LIMIT,
        deadline: NO_LIMIT,
        ..PriceSettings::new(upstream.url())
    });
    experiment.connections = clients;
    let path = format!("/price/{}", ids::of(experiment.session.data_set).pattern);
    experiment.show_load(&path);
    experiment.same_work().await?;

    let subjects = experiment.subjects.clone();
    let definitions = metrics::of("waiting", delays.iter().map(|delay| At::Delay(*delay)))?;
    let plan = &experiment.session.plan;
    let mut loads = Delays {
        path,
        upstream,
        clients,
        delays,
        loads: [
            (Load::Closed, plan.saturation, CLOSED),
            (Load::Open(rate), plan.open, OPEN),
        ],
        keys: definitions.iter().map(|known| known.key.clone()).collect(),
    };
    let records = experiment.rounds(&subjects, &mut loads).await?;
    experiment.judge(&definitions, &records, &pairs(&subjects));
    let slowest = loads.delays.last().copied().unwrap_or_default();
    let steps: Vec<At> = loads.delays.iter().copied().map(At::Delay).collect();
    experiment.decide(&THROUGHPUT.at(At::Delay(slowest)), &ids(&subjects));
    experiment.notes.push(format!(
        "{clients} clients in a closed loop, and {rate} requests/s offered to each row at each delay; load generator, \
         upstream, service and database share {} cores",
        process::cores()
    ));
    let mut result = experiment.finish().await?;
    add_steps(&mut result, &steps)?;
    Ok(result)
}

fn waits_virtually(subject: &Subject) -> bool {
    let env = &subject.launch.env;
    env.iter()
        .any(|(name, value)| name == WAITING && value == "virtual")
}

/// The loads of a block: at each delay a closed loop, in which everybody waits, then an open one at the same rate for all.
struct Delays {
    path: String,
    upstream: Upstream,
    clients: u32,
    delays: Vec<u64>,
    /// Each with its seconds and what is read off it.
    loads: [(Load, f64, Readings); 2],
    keys: Vec<Key>,
}

/// What is read off a load, and the metric that it is a value of.
type Readings = &'static [(Reading, Key)];

const CLOSED: Readings = &[
    (Reading::Rate, THROUGHPUT),
    (Reading::Percentile("p99"), P99_SATURATED),
    (Reading::Threads, THREADS),
    (Reading::Pss, MEMORY),
    (Reading::Cpu, CPU_SATURATED),
];
const OPEN: Readings = &[(Reading::Percentile("p99"), P99), (Reading::Cpu, CPU)];

#[async_trait(?Send)]
impl Loads for Delays {
    fn path(&self) -> &str {
        &self.path
    }

    fn keys(&self, _subject: &Subject) -> Vec<Key> {
        self.keys.clone()
    }

    async fn put_on(
        &mut self,
        session: &mut Session<'_>,
        _subject: &Subject,
        service: &Service,
        observed: &mut Observed,
        title: &str,
    ) -> anyhow::Result<()> {
        let pids = service.pids();
        let before = process::tree_pss_kb(&pids);
        for delay in self.delays.iter().copied() {
            self.upstream.conduct(Conduct::Prices(PriceFault {
                delay: Duration::from_millis(delay),
                ..PriceFault::default()
            }));
            for (load, seconds, readings) in self.loads {
                session
                    .progress
                    .phase(&format!("{title}: prices after {delay} ms, {load}"));
                let length = Duration::from_secs_f64(seconds);
                let order = Order {
                    connections: self.clients,
                    ..session.order(&self.path, service, length, load)
                };
                let mut seen = watched(session, &order, &pids, load == Load::Closed).await?;
                // The last answers come a delay after the last requests, and that is nobody's fault.
                let sending = seen.run.took_s - delay as f64 / 1e3;
                if load != Load::Closed && sending > 0.0 {
                    seen.run.rate = seen.run.answers as f64 / sending;
                }
                let at = At::Delay(delay);
                if seen.note(&order, readings, Some(at), observed) && load == Load::Closed {
                    let grown = seen.pss_kb.zip(before);
                    let grown = grown.map(|(most, before)| most.saturating_sub(before) as f64);
                    let each = grown.map(|grown| grown / f64::from(self.clients));
                    observed.value(MEMORY_PER_WAITING.at(at), each);
                }
            }
        }
        self.upstream.conduct(Conduct::WELL);
        Ok(())
    }
}

/// Each connection has a port of its own on the side that opens it. Where the system does not say which (no `/proc`), it has to
/// be tried.
fn check_ports(clients: u32) -> anyhow::Result<()> {
    let range = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range");
    let Some((first, last)) = range.ok().as_deref().and_then(port_range) else {
        return Ok(());
    };
    // Those of one load are still being put away while the next one begins.
    let needed = 4 * clients;
    if last.saturating_sub(first) >= needed {
        return Ok(());
    }
    Trouble::new(format!(
        "this system has the local ports {first} to {last}, and {clients} clients take {needed}"
    ))
    .next("sudo sysctl -w net.ipv4.ip_local_port_range='32768 60999', then the same command again")
    .err()
}

fn port_range(text: &str) -> Option<(u32, u32)> {
    let mut ports = text.split_whitespace().map(str::parse);
    Some((ports.next()?.ok()?, ports.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_has_its_definition() {
        let delays = [0, 50].map(At::Delay);
        let defined = metrics::of("waiting", delays).unwrap();
        let keys = CLOSED.iter().chain(OPEN).map(|(_, key)| key);
        for key in keys.chain([&MEMORY_PER_WAITING]) {
            for delay in delays {
                let key = key.at(delay);
                assert!(defined.iter().any(|known| known.key == key), "{key}");
            }
        }
    }

    #[test]
    fn the_range_of_ports_is_read() {
        assert_eq!(port_range("32768\t60999\n"), Some((32768, 60999)));
    }
}
