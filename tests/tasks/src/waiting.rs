//! Waiting for others (exercise 14): thousands of clients ask for prices, and the service that knows them takes its time. Where
//! do threads, virtual threads, coroutines and tasks part?

use std::time::Duration;

use async_trait::async_trait;

use crate::tables::waiting as tables;
use workshop_base::outcome::Trouble;
use workshop_base::{open_files, process};
use workshop_harness::jdk;
use workshop_harness::service::{PriceSettings, Service};
use workshop_harness::upstream::{Conduct, Trouble as Delay, Upstream};
use workshop_measure::protocol::block::{GENERATOR_SHARE, Loads, Observed, Reading, watched};
use workshop_measure::protocol::experiment::{Asked, Experiment, ids, pairs};
use workshop_measure::protocol::lab::Lab;
use workshop_measure::protocol::session::Session;
use workshop_measure::protocol::subject::Subject;
use workshop_measure::protocol::{ids, metrics};
use workshop_measure::tools::oha::{Load, Order};
use workshop_results::file::{Mode, ResultFile};

/// No limit of the services comes near: what is measured is how they wait, not how they refuse.
const NO_LIMIT: Duration = Duration::from_secs(60);
/// More calls than clients.
const CALLS: u16 = 10_000;
/// The variable by which the Kotlin service is told how to wait, and the JDK from which on it has virtual threads.
const WAITING: &str = "UPSTREAM_WAITING";
const WITH_VIRTUAL_THREADS: u32 = 21;

/// How many clients wait, how late prices come (in milliseconds), and the rate that every side is offered at every delay.
struct Extent {
    clients: u32,
    delays: &'static [u64],
    rate: f64,
}

fn extent(mode: Mode) -> Extent {
    match mode {
        Mode::Quick => Extent {
            clients: 1000,
            delays: &[0, 50, 1000],
            rate: 150.0,
        },
        Mode::Standard | Mode::Thorough => Extent {
            clients: 3000,
            delays: &[0, 5, 20, 50, 200, 1000],
            rate: 500.0,
        },
    }
}

/// Measures a target and Kotlin in its ways to wait.
pub async fn measure(lab: &Lab<'_>, asked: &Asked) -> anyhow::Result<ResultFile> {
    let Extent {
        clients,
        delays,
        rate,
    } = extent(asked.mode);
    // Each client is a connection in the generator and in the service, and each of its calls is one in the service and in the
    // upstream, which is this process. Some of them may be closing still.
    open_files::allow_sockets(2 * clients as usize + 500, &format!("{clients} clients"))?;
    check_ports(clients)?;

    let mut experiment = Experiment::begin(lab, asked, &asked.task).await?;
    if jdk::find()?.feature() < WITH_VIRTUAL_THREADS {
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
    let mut loads = Delays {
        path,
        upstream,
        clients,
        delays,
        rate,
        length: Duration::from_secs_f64(experiment.session.plan.saturation),
        open: Duration::from_secs_f64(experiment.session.plan.open),
    };
    let records = experiment.rounds(&subjects, &mut loads).await?;
    let definitions = metrics::of("waiting", delays.iter().map(|delay| (delay, delay)))?;
    experiment.judge(&definitions, &records, &pairs(&subjects));
    let slowest = delays.last().copied().unwrap_or_default();
    experiment.decide(&key("throughput", slowest), &ids(&subjects));
    experiment.notes.push(format!(
        "{clients} clients in a closed loop, and {rate} requests/s offered to each row at each delay; load generator, \
         upstream, service and database share {} cores",
        process::cores()
    ));
    let mut result = experiment.finish().await?;
    let (table, charts) = tables::TABLE.drawn(&result, delays);
    result.tables.push(table);
    result.charts.extend(charts);
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
    delays: &'static [u64],
    rate: f64,
    length: Duration,
    open: Duration,
}

impl Delays {
    fn order(&self, session: &Session<'_>, service: &Service, load: Load) -> Order {
        let length = match load {
            Load::Closed | Load::Counted(_) => self.length,
            Load::Open(_) | Load::Recorded(_) => self.open,
        };
        Order {
            connections: self.clients,
            ..session.order(&self.path, service, length, load)
        }
    }
}

/// What is read off each of the two loads, and the beginning of the metric's key.
const CLOSED: [(Reading, &str); 5] = [
    (Reading::Rate, "throughput"),
    (Reading::P99, "p99_saturated"),
    (Reading::Threads, "threads"),
    (Reading::Pss, "memory"),
    (Reading::Cpu, "cpu_saturated"),
];
const OPEN: [(Reading, &str); 2] = [(Reading::P99, "p99"), (Reading::Cpu, "cpu")];
/// What a waiting request takes, in kilobytes.
const PER_WAITING: &str = "memory_per_waiting";

/// The key of a metric at this delay.
fn key(name: &str, delay: u64) -> String {
    format!("{name}_at_{delay}_ms")
}

#[async_trait(?Send)]
impl Loads for Delays {
    fn path(&self) -> &str {
        &self.path
    }

    fn keys(&self, _subject: &Subject) -> Vec<String> {
        let names = CLOSED.iter().chain(&OPEN).map(|(_, name)| *name);
        let names: Vec<&str> = names.chain([PER_WAITING]).collect();
        let at = |delay: &u64| {
            names
                .iter()
                .map(|name| key(name, *delay))
                .collect::<Vec<_>>()
        };
        self.delays.iter().flat_map(at).collect()
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
            self.upstream.conduct(Conduct::Prices(Delay {
                delay: Duration::from_millis(delay),
                ..Delay::default()
            }));
            for (load, readings) in [
                (Load::Closed, &CLOSED[..]),
                (Load::Open(self.rate), &OPEN[..]),
            ] {
                session
                    .progress
                    .phase(&format!("{title}: prices after {delay} ms, {load}"));
                let order = self.order(session, service, load);
                let mut seen = watched(session, &order, &pids, load == Load::Closed).await?;
                // The last answers come a delay after the last requests, and that is nobody's fault.
                let sending = seen.run.took_s - delay as f64 / 1e3;
                if load != Load::Closed && sending > 0.0 {
                    seen.run.rate = seen.run.answers as f64 / sending;
                }
                if load == Load::Closed {
                    observed.most(GENERATOR_SHARE, seen.run.generator_share);
                }
                for (reading, name) in readings {
                    let key = key(name, delay);
                    if let Err(reason) = seen.run.gate(&order) {
                        observed.invalid([key], &reason);
                        continue;
                    }
                    observed.value(key, seen.of(*reading));
                }
                if load == Load::Closed && seen.run.gate(&order).is_ok() {
                    let grown = seen.pss_kb.zip(before);
                    let grown = grown.map(|(most, before)| most.saturating_sub(before) as f64);
                    let each = grown.map(|grown| grown / f64::from(self.clients));
                    observed.value(key(PER_WAITING, delay), each);
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
        let extent = extent(Mode::Standard);
        let ends = extent.delays.iter().map(|delay| (delay, delay));
        let defined = metrics::of("waiting", ends).unwrap();
        let names = CLOSED.iter().chain(&OPEN).map(|(_, name)| *name);
        for name in names.chain([PER_WAITING]) {
            for delay in extent.delays {
                let key = key(name, *delay);
                assert!(defined.iter().any(|known| known.key == key), "{key}");
            }
        }
    }

    #[test]
    fn the_range_of_ports_is_read() {
        assert_eq!(port_range("32768\t60999\n"), Some((32768, 60999)));
    }
}
