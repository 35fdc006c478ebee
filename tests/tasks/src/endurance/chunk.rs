//! One chunk: a closed loop of an exact number of requests, with an eye on the processes that answer it.

use std::time::Duration;

use workshop_base::process;
use workshop_harness::service::Service;
use workshop_measure::protocol::block::{Observed, Started, megabytes};
use workshop_measure::protocol::load::{Reading, watched};
use workshop_measure::protocol::session::Session;
use workshop_measure::tools::oha::Load;
use workshop_results::key::{
    CPU_PER_REQUEST, DESCRIPTORS, ERRORS, GENERATOR_SHARE, MEMORY, P50_SATURATED, P99_SATURATED,
    REQUESTS, SERVED, SLOWEST_SATURATED, THREADS, THROUGHPUT,
};

/// Between two looks at the processes.
const LOOK: Duration = Duration::from_millis(200);
/// How many of a service's last log lines a reason has.
const LOG_LINES: usize = 3;

/// A service that gets chunk after chunk.
pub struct Running {
    /// The side's id.
    pub side: String,
    /// Its process.
    pub started: Started,
    /// What it has answered, the warm-up included.
    pub served: u64,
}

/// How a chunk went.
pub struct ChunkResult {
    /// What was seen in it, or right after it; nothing where the service has ended under it.
    pub observed: Option<Observed>,
    /// Why not every request was answered with 200.
    pub wrong: Option<String>,
}

impl Running {
    /// Sends a chunk of so many requests to these random paths; it may take at most so long.
    pub async fn chunk(
        &mut self,
        session: &Session<'_>,
        path: &str,
        requests: u64,
        longest: Duration,
    ) -> anyhow::Result<ChunkResult> {
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
                        return Ok(ChunkResult { observed: None, wrong });
                    }
                    descriptors = descriptors.max(open());
                }
            }
        };
        let run = &seen.run;
        let errors = run.failed();
        self.served += run.answers;
        let requests = run.answers - (errors - run.errors.values().sum::<u64>());
        let pss_kb = process::tree_pss_kb(&pids);
        let mut observed = Observed::default();
        for (key, value) in [
            (REQUESTS, Some(requests as f64)),
            (ERRORS, Some(errors as f64)),
            (SERVED, Some(self.served as f64)),
            (THROUGHPUT, Some(run.rate)),
            (P50_SATURATED, run.p50_ms),
            (P99_SATURATED, run.p99_ms),
            (SLOWEST_SATURATED, run.slowest_ms),
            (MEMORY, pss_kb.map(megabytes)),
            (DESCRIPTORS, descriptors.map(|count| count as f64)),
            (THREADS, seen.of(Reading::Threads)),
            (CPU_PER_REQUEST, seen.of(Reading::Cpu)),
            (GENERATOR_SHARE, run.generator_share),
        ] {
            observed.value(key, value);
        }
        // A service that has ended refuses connections; that it has ended tells more.
        let wrong = ended(service).or_else(|| run.answered(&order).err());
        let observed = Some(observed);
        Ok(ChunkResult { observed, wrong })
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
