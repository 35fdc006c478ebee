//! One chunk: a closed loop of an exact number of requests, with an eye on the processes that answer it.

use std::time::Duration;

use crate::endurance::journal::Chunk;
use workshop_base::process;
use workshop_harness::service::Service;
use workshop_measure::protocol::block::{
    GENERATOR_SHARE, Observed, Reading, Started, megabytes, watched,
};
use workshop_measure::protocol::lab;
use workshop_measure::protocol::session::Session;
use workshop_measure::protocol::subject::Subject;
use workshop_measure::tools::oha::Load;

/// Between two looks at the processes.
const LOOK: Duration = Duration::from_millis(200);
/// How many of a service's last log lines a reason has.
const LOG_LINES: usize = 3;

/// A service that gets chunk after chunk.
pub struct Running<'s> {
    /// What it is.
    pub subject: &'s Subject,
    /// Its process.
    pub started: Started,
    /// Which segment of the run that is.
    pub segment: u32,
    /// What it has answered, the warm-up included.
    pub served: u64,
}

/// How a chunk went.
pub struct Went {
    /// What was seen; nothing where the service has ended under it.
    pub chunk: Option<Chunk>,
    /// Why not every request was answered with 200.
    pub wrong: Option<String>,
}

impl Running<'_> {
    /// Sends a chunk of so many requests to these random paths; it may take at most so long.
    pub async fn chunk(
        &mut self,
        session: &Session<'_>,
        path: &str,
        requests: u64,
        longest: Duration,
    ) -> anyhow::Result<Went> {
        let service = &mut self.started.service;
        let order = session.order(path, service, longest, Load::Counted(requests));
        let pids = service.pids();
        let tree = process::tree(&pids);
        let open = || tree.iter().map(|pid| process::open_files(*pid)).sum();
        let mut descriptors: Option<usize> = open();
        let load = watched(session, &order, &pids, false);
        tokio::pin!(load);
        let seen = loop {
            tokio::select! {
                seen = &mut load => break seen?,
                () = tokio::time::sleep(LOOK) => {
                    if let wrong @ Some(_) = ended(service) {
                        return Ok(Went { chunk: None, wrong });
                    }
                    descriptors = descriptors.max(open());
                }
            }
        };
        let run = &seen.run;
        let errors = run.failed();
        self.served += run.answers;
        let chunk = Chunk {
            side: self.subject.id().to_owned(),
            segment: self.segment,
            at: lab::now(),
            served: self.served,
            requests: run.answers - (errors - run.errors.values().sum::<u64>()),
            errors,
            rate: run.rate,
            p50_ms: run.p50_ms,
            p99_ms: run.p99_ms,
            slowest_ms: run.slowest_ms,
            pss_kb: process::tree_pss_kb(&pids),
            descriptors,
            threads: seen.threads,
            cpu_us: seen.of(Reading::Cpu),
            generator: run.generator_share,
        };
        // A service that has ended refuses connections; that it has ended tells more.
        let wrong = ended(service).or_else(|| run.answered(&order).err());
        let chunk = Some(chunk);
        Ok(Went { chunk, wrong })
    }
}

/// That the service has ended, where it has.
fn ended(service: &mut Service) -> Option<String> {
    let status = service.exited()?;
    let log = match service.log_tail(LOG_LINES).trim() {
        "" => "it wrote nothing to its log".to_owned(),
        log => format!("its log ends with: {}", log.replace('\n', " | ")),
    };
    Some(format!("the service ended under load ({status}); {log}"))
}

/// A chunk's values by the keys of the metrics.
pub fn observed(chunk: &Chunk) -> Observed {
    let mut observed = Observed::default();
    let count = |count: Option<usize>| count.map(|count| count as f64);
    observed.value("throughput", Some(chunk.rate));
    observed.value("p50_saturated", chunk.p50_ms);
    observed.value("p99_saturated", chunk.p99_ms);
    observed.value("slowest_saturated", chunk.slowest_ms);
    observed.value("memory", chunk.pss_kb.map(megabytes));
    observed.value("descriptors", count(chunk.descriptors));
    observed.value("threads", count(chunk.threads));
    observed.value("cpu_per_request", chunk.cpu_us);
    observed.value(GENERATOR_SHARE, chunk.generator);
    observed
}
