//! Two thousand peers (exercise 13): what does a socket cost, how late are messages, and what is left when all have gone?

use std::time::{Duration, Instant};

use workshop_base::process::{self, since};
use workshop_base::{open_files, wait};
use workshop_measure::protocol::block::{Block, megabytes, turns};
use workshop_measure::protocol::lab::Lab;
use workshop_measure::protocol::load::enough_answers;
use workshop_measure::protocol::rows::Asked;
use workshop_measure::protocol::session::{Session, key};
use workshop_measure::protocol::warmup::{WarmUpLimits, until_steady};
use workshop_measure::protocol::{metrics, plan};
use workshop_measure::tables::add_steps;
use workshop_measure::tools::crowd::{PeerLoad, PeerLoadOrder, PeerLoadReport};
use workshop_measure::tools::oha::Run;
use workshop_results::file::ResultFile;
use workshop_results::key::{
    At, CONNECTING, CPU_PER_MESSAGE, LEAVING, LOAD_SHARE, MEMORY, MEMORY_PER_PEER, P50, P99,
    THREADS, THREADS_AFTERWARDS, UNSTEADY, WARM_UP,
};

/// How many messages each peer sends per second.
const RATE: f64 = 1.0;
/// Peers of the warm-up: each sends the next message when the last one has come back.
const WARMING: usize = 32;
/// The longest that a service may take to notice that all its peers have gone.
const NOTICED_WITHIN: Duration = Duration::from_secs(30);
/// How much later than planned the load may send, in milliseconds.
const MAX_LATE: f64 = 20.0;
/// Files that a service may have opened meanwhile for itself.
const OTHER_FILES: usize = 5;
/// How long a service has for what it does after its last socket has closed, before its threads are counted.
const AFTERWARDS: Duration = Duration::from_secs(1);

/// Measures a target beside Kotlin.
pub async fn measure(lab: &Lab<'_>, asked: &Asked) -> anyhow::Result<ResultFile> {
    let sizes: Vec<usize> = plan::extent("peers", asked.mode)?;
    let most = sizes.iter().copied().max().unwrap_or_default();
    // Each peer is a socket in the process that plays them, and one in the service.
    open_files::allow_sockets(most, &format!("{most} peers"))?;
    let (mut session, subjects) = Session::begin(lab, asked, &asked.task).await?;
    println!("the load:  {most} WebSockets, each sends {RATE} message per second to another one");
    let subjects = session.same_work(subjects).await?;
    session.connections = u32::try_from(most)?;
    session.notes.push(format!(
        "each peer sends {RATE} message per second to another one; peers, service and database share {} cores",
        process::cores()
    ));
    let mut rounds = Vec::new();
    for turn in turns(&session.plan, &subjects) {
        let mut block = Block::start(&session, &turn).await?;
        let mut crowd = PeerLoad::start(block.service().base_url(), &key())?;
        warm_up(&session, &mut block, &mut crowd).await?;
        let before = process::tree_pss_kb(&block.service().pids());
        for peers in sizes.iter().copied() {
            block.phase(&session, format!("{peers} peers"));
            gather(&mut block, &mut crowd, peers, session.plan.open, before).await?;
        }
        drop(crowd);
        rounds.push(block.end(&mut session).await?);
    }
    let steps: Vec<At> = sizes.iter().copied().map(At::Peers).collect();
    let definitions = metrics::of("peers", steps.clone())?;
    let found = session
        .judged(&definitions, &subjects, rounds, None)
        .decided_by(&P99.at(At::Peers(most)), &subjects);
    let mut result = session.finish(&subjects, found).await?;
    add_steps(&mut result, &steps)?;
    Ok(result)
}

/// Has a few peers talk as fast as they can, until the service is steady or the plan has no more time for it.
async fn warm_up(
    session: &Session<'_>,
    block: &mut Block<'_>,
    crowd: &mut PeerLoad,
) -> anyhow::Result<()> {
    block.phase(session, "warming up until steady");
    let limits = session.plan.warm_up_of(block.subject().runs_as);
    crowd.order(PeerLoadOrder::Connect(WARMING)).await?;
    let window = async || {
        let length = limits.window.as_secs_f64();
        Ok(Ok(as_run(
            &crowd.order(PeerLoadOrder::Closed(length)).await?,
        )))
    };
    // Here the last window begins before the ceiling; elsewhere it also ends before it.
    let ceiling = limits.ceiling + limits.window;
    let until = WarmUpLimits { ceiling, ..limits };
    let pids = block.service().pids();
    let warmed_up = until_steady(&pids, &until, window).await?;
    let steady = warmed_up
        .ok()
        .and_then(|warmed_up| warmed_up.steady_after_s);
    block.observed.value(WARM_UP, steady);
    if steady.is_none() {
        block.observed.value(UNSTEADY, Some(1.0));
    }
    crowd.order(PeerLoadOrder::Leave).await?;
    Ok(())
}

/// Has so many peers connect, talk, and leave.
async fn gather(
    block: &mut Block<'_>,
    crowd: &mut PeerLoad,
    peers: usize,
    length: f64,
    before: Option<u64>,
) -> anyhow::Result<()> {
    let (service, observed) = (&block.started.service, &mut block.observed);
    let (pids, at) = (service.pids(), At::Peers(peers));
    let files = process::open_files(service.pid());
    let connected = crowd.order(PeerLoadOrder::Connect(peers)).await?;
    observed.value(CONNECTING.at(at), Some(connected.took_s * 1e3));

    let (cpu_before, crowd_before) = (process::cpu(&pids), crowd.cpu());
    let report = crowd.order(PeerLoadOrder::Open(RATE, length)).await?;
    let (cpu_after, crowd_after) = (process::cpu(&pids), crowd.cpu());
    let share = since(crowd_before, crowd_after)
        .map(|cpu| 100.0 * cpu.as_secs_f64() / (report.took_s * process::cores() as f64));
    observed.value(LOAD_SHARE.at(at), share);

    let pss = process::tree_pss_kb(&pids);
    let grown = pss
        .zip(before)
        .map(|(now, before)| now.saturating_sub(before) as f64);
    observed.value(MEMORY.at(at), pss.map(megabytes));
    observed.value(
        MEMORY_PER_PEER.at(at),
        grown.map(|grown| grown / peers as f64),
    );
    let threads = || process::threads(service.pid()).map(|threads| threads as f64);
    observed.value(THREADS.at(at), threads());
    let cpu = as_run(&report).per_request_us(since(cpu_before, cpu_after));
    let of_messages = [(P50.at(at), report.p50_ms), (CPU_PER_MESSAGE.at(at), cpu)];
    observed.gated(gate(&report), of_messages);
    observed.gated(p99_gate(&report), [(P99.at(at), report.p99_ms)]);

    let left = Instant::now();
    crowd.order(PeerLoadOrder::Leave).await?;
    let noticed = wait::within(NOTICED_WITHIN, async || {
        let open = process::open_files(service.pid()).zip(files);
        // Where the system does not tell, there is nothing to wait for.
        open.is_none_or(|(open, files)| open <= files + OTHER_FILES)
            .then_some(open)
    });
    if noticed.await.flatten().is_some() {
        observed.value(LEAVING.at(at), Some(left.elapsed().as_secs_f64() * 1e3));
    }
    tokio::time::sleep(AFTERWARDS).await;
    observed.value(THREADS_AFTERWARDS.at(at), threads());
    Ok(())
}

/// Messages as requests that were answered.
fn as_run(report: &PeerLoadReport) -> Run {
    Run {
        answers: report.arrived,
        p50_ms: report.p50_ms,
        ..Run::default()
    }
}

/// Why the figures of a load do not count.
fn gate(report: &PeerLoadReport) -> Result<(), String> {
    if report.lost > 0 {
        return Err(format!("{} sockets ended by themselves", report.lost));
    }
    if report.arrived < report.sent {
        let (arrived, sent) = (report.arrived, report.sent);
        return Err(format!("only {arrived} of {sent} messages arrived"));
    }
    match report.p99_late_ms {
        Some(late) if late > MAX_LATE => Err(format!(
            "the load itself sent {late:.0} ms late: there were too few cores for it"
        )),
        _ => Ok(()),
    }
}

/// The same for its p99, which rests on the slowest messages.
fn p99_gate(report: &PeerLoadReport) -> Result<(), String> {
    gate(report).and_then(|()| enough_answers(report.arrived, "p99"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use workshop_results::key::Key;

    /// What is said about each size.
    const MEASURED: [Key; 10] = [
        P50,
        P99,
        CPU_PER_MESSAGE,
        MEMORY_PER_PEER,
        MEMORY,
        THREADS,
        THREADS_AFTERWARDS,
        CONNECTING,
        LEAVING,
        LOAD_SHARE,
    ];

    #[test]
    fn every_key_has_its_definition() {
        let sizes = [500, 10_000].map(At::Peers);
        let defined = metrics::of("peers", sizes).unwrap();
        for name in MEASURED {
            for size in sizes {
                let key = name.at(size);
                assert!(defined.iter().any(|known| known.key == key), "{key}");
            }
        }
    }

    #[test]
    fn a_load_that_lost_something_does_not_count() {
        let fine = PeerLoadReport {
            sent: 10,
            arrived: 10,
            p99_late_ms: Some(1.5),
            ..PeerLoadReport::default()
        };
        assert_eq!(gate(&fine), Ok(()));
        assert!(p99_gate(&fine).is_err_and(|why| why.starts_with("10 answers are too few")));
        let (sent, arrived) = (2_000, 2_000);
        let enough = PeerLoadReport {
            sent,
            arrived,
            ..fine
        };
        assert_eq!(p99_gate(&enough), Ok(()));
        for broken in [
            PeerLoadReport { arrived: 9, ..fine },
            PeerLoadReport { lost: 1, ..fine },
            PeerLoadReport {
                p99_late_ms: Some(200.0),
                ..fine
            },
        ] {
            assert!(gate(&broken).is_err(), "{broken:?}");
        }
    }
}
