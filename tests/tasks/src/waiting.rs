//! Waiting for others (exercise 12): thousands of clients ask for prices, and the service that knows them takes its time. Where
//! do threads, virtual threads, coroutines and tasks part?

use std::time::Duration;

use anyhow::Context;
use serde::Deserialize;

use workshop_base::outcome::Trouble;
use workshop_base::{open_files, process};
use workshop_harness::jdk;
use workshop_harness::service::PriceSettings;
use workshop_harness::upstream::{Conduct, PriceFault, Upstream};
use workshop_measure::protocol::block::{Block, turns};
use workshop_measure::protocol::lab::Lab;
use workshop_measure::protocol::load::{Reading, watched};
use workshop_measure::protocol::rows::Asked;
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
struct WaitingExtent {
    clients: u32,
    delays: Vec<u64>,
    rate: f64,
}

/// Measures a target and Kotlin in its ways to wait.
pub async fn measure(lab: &Lab<'_>, asked: &Asked) -> anyhow::Result<ResultFile> {
    let WaitingExtent {
        clients,
        delays,
        rate,
    } = plan::extent("waiting", asked.mode)?;
    // Each client is a connection in the generator and in the service, and each of its calls is one in the service and in the
    // upstream, which is this process. Some of them may be closing still.
    open_files::allow_sockets(2 * clients as usize + 500, &format!("{clients} clients"))?;
    check_ports(clients)?;

    let (mut session, mut subjects) = Session::begin(lab, asked, &asked.task).await?;
    if jdk::find(jdk::OLDEST, jdk::KOTLIN)?.feature() < WITH_VIRTUAL_THREADS {
        subjects.retain(|subject| !waits_virtually(subject));
        session.notes.push(format!(
            "no row of virtual threads: they need a JDK from {WITH_VIRTUAL_THREADS} on"
        ));
    }
    let upstream = Upstream::start(Conduct::WELL).await?;
    session.timeout = NO_LIMIT / 2;
    session.prices = Some(PriceSettings {
        limit: CALLS,
        wait: NO_LIMIT,
        timeout: NO_LIMIT,
        deadline: NO_LIMIT,
        ..PriceSettings::new(upstream.url())
    });
    session.connections = clients;
    let path = format!("/price/{}", ids::of(lab.seeded.set).pattern);
    session.show_load(&path);
    let subjects = session.same_work(subjects).await?;

    let steps: Vec<At> = delays.iter().copied().map(At::Delay).collect();
    let definitions = metrics::of("waiting", steps.clone())?;
    let mut rounds = Vec::new();
    for turn in turns(&session.plan, &subjects) {
        let mut block = Block::start(&session, &turn).await?;
        let warm_up = session.order(&path, block.service(), Duration::ZERO, Load::Closed);
        let keys = definitions.iter().map(|known| known.key.clone()).collect();
        if block.warm_up(&session, &warm_up, keys).await? {
            let before = process::tree_pss_kb(&block.service().pids());
            for delay in delays.iter().copied() {
                upstream.conduct(Conduct::Prices(PriceFault {
                    delay: Duration::from_millis(delay),
                    ..PriceFault::default()
                }));
                let (closed, open) = (session.plan.saturation, session.plan.open);
                for (load, seconds) in [(Load::Closed, closed), (Load::Open(rate), open)] {
                    let order = Order {
                        connections: clients,
                        duration: Duration::from_secs_f64(seconds),
                        load,
                        ..warm_up.clone()
                    };
                    everybody_waits(&session, &mut block, &order, delay, before).await?;
                }
            }
            upstream.conduct(Conduct::WELL);
        }
        rounds.push(block.end(&mut session).await?);
    }
    session.notes.push(format!(
        "{clients} clients in a closed loop, and {rate} requests/s offered to each row at each delay; load generator, \
         upstream, service and database share {} cores",
        process::cores()
    ));
    let slowest = steps.last().copied().context("no delay to measure")?;
    let found = session
        .judged(&definitions, &subjects, rounds, None)
        .decided_by(&THROUGHPUT.at(slowest), &subjects);
    let mut result = session.finish(&subjects, found).await?;
    add_steps(&mut result, &steps)?;
    Ok(result)
}

fn waits_virtually(subject: &Subject) -> bool {
    let env = &subject.launch.env;
    env.iter()
        .any(|(name, value)| name == WAITING && value == "virtual")
}

/// What is read off a load, and the metric that it is a value of.
type Readings = &'static [(Reading, Key)];

/// In a closed loop everybody waits; an open one is the same for all.
const CLOSED: Readings = &[
    (Reading::Rate, THROUGHPUT),
    (Reading::Percentile("p99"), P99_SATURATED),
    (Reading::Threads, THREADS),
    (Reading::Pss, MEMORY),
    (Reading::Cpu, CPU_SATURATED),
];
const OPEN: Readings = &[(Reading::Percentile("p99"), P99), (Reading::Cpu, CPU)];

/// A load at this delay; `before` is the memory in kilobytes of the service when nobody waited.
async fn everybody_waits(
    session: &Session<'_>,
    block: &mut Block<'_>,
    order: &Order,
    delay: u64,
    before: Option<u64>,
) -> anyhow::Result<()> {
    let (at, is_closed) = (At::Delay(delay), order.load == Load::Closed);
    block.phase(session, format!("prices after {delay} ms, {}", order.load));
    let mut seen = watched(session, order, &block.service().pids(), is_closed).await?;
    // The last answers come a delay after the last requests, and that is nobody's fault.
    let sending = seen.run.took_s - delay as f64 / 1e3;
    if !is_closed && sending > 0.0 {
        seen.run.rate = seen.run.answers as f64 / sending;
    }
    let readings = if is_closed { CLOSED } else { OPEN };
    if seen.note(order, readings, Some(at), &mut block.observed) && is_closed {
        let grown = seen.pss_kb.zip(before);
        let grown = grown.map(|(most, before)| most.saturating_sub(before) as f64);
        let each = grown.map(|grown| grown / f64::from(order.connections));
        block.observed.value(MEMORY_PER_WAITING.at(at), each);
    }
    Ok(())
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
