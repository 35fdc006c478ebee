//! A load, and what can be read off it: of the generator, of the processes under it, of the database.

use std::time::{Duration, Instant};

use futures_util::future::LocalBoxFuture;

use crate::protocol::block::{Block, Observed, Turn, megabytes};
use crate::protocol::plan::{HEADLINE_RATE, Plan};
use crate::protocol::session::Session;
use crate::tools::oha::{Load, Order, Run};
use workshop_base::process::{self, since};
use workshop_results::file::BlockRecord;
use workshop_results::key::{
    At, CPU_PER_REQUEST_SATURATED, DATABASE_PER_REQUEST, GENERATOR_SHARE, Key, P50, P99, THREADS,
    THROUGHPUT,
};

/// Between two looks at the number of threads.
const SAMPLE: Duration = Duration::from_millis(200);
/// Between two looks at the memory. Adding up a JVM's pages takes the kernel milliseconds.
const MEMORY_SAMPLE: Duration = Duration::from_millis(500);
/// A percentile rests on the answers that took longer. With fewer of them, a single slow one moves it: a p99 needs 2000 answers.
const FEWEST_BEYOND: f64 = 20.0;

/// An open loop is planned for this many times the answers that a p99 needs, because some answers come after its end.
const SPARE: f64 = 1.05;
/// An open loop takes at most this many times its planned time.
const LONGEST: f64 = 4.0;

/// What can be read off a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// Answers per second.
    Rate,
    /// The mean latency.
    Mean,
    /// A percentile of the latency, as oha calls it: `p99.9`.
    Percentile(&'static str),
    /// CPU time per request.
    Cpu,
    /// That of the load generator.
    LoadCpu,
    /// The most threads that were seen.
    Threads,
    /// The most memory of the processes and their children that was seen, by its proportional share.
    Pss,
    /// The database's time per request.
    Database,
    /// Its share of the CPU time of service and database together, in percent.
    DatabaseShare,
    /// The connections to the database at the end.
    Connections,
}

/// A load on random paths, and what is noted of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// The random paths, as a regular expression.
    pub path: String,
    /// How requests are offered.
    pub load: Load,
    /// How long.
    pub length: Duration,
    /// What is noted, and the metric that it is a value of.
    pub readings: Vec<(Reading, Key)>,
}

/// The loads that a plan makes of random paths and shared rates.
pub type StepsOf = fn(&Plan, &str, &[(u32, f64)]) -> Vec<Step>;

/// Random paths: a closed loop, then open loops at these rates (percent of the slower side's saturation, requests per
/// second).
pub fn steps(plan: &Plan, path: &str, rates: &[(u32, f64)]) -> Vec<Step> {
    let closed = Step {
        path: path.to_owned(),
        load: Load::Closed,
        length: Duration::from_secs_f64(plan.saturation),
        readings: vec![
            (Reading::Rate, THROUGHPUT),
            (Reading::Cpu, CPU_PER_REQUEST_SATURATED),
            (Reading::Threads, THREADS),
            (Reading::Database, DATABASE_PER_REQUEST),
        ],
    };
    let open = rates.iter().map(|(percent, rate)| Step {
        load: Load::Open(*rate),
        length: open_loop(plan, *rate),
        readings: vec![
            (Reading::Percentile("p99"), p99_at(*percent)),
            (Reading::Percentile("p50"), P50.at(At::Rate(*percent))),
        ],
        ..closed.clone()
    });
    std::iter::once(closed.clone()).chain(open).collect()
}

/// The length of an open loop at this rate: as planned, or longer if a slow machine would otherwise give too few answers for a p99.
fn open_loop(plan: &Plan, rate: f64) -> Duration {
    let for_a_p99 = SPARE * fewest_answers("p99") / rate;
    let seconds = for_a_p99.clamp(plan.open, LONGEST * plan.open);
    Duration::from_secs_f64(seconds)
}

/// The key of the p99 at this percentage of the slower side's saturation.
pub fn p99_at(percent: u32) -> Key {
    P99.at((percent != HEADLINE_RATE).then_some(At::Rate(percent)))
}

/// A block with these loads, one after the other. It is warmed up with the paths of the first. Where something is planted, a closed loop is
/// shorter, and its answers are divided by the whole time.
pub fn block<'f>(
    session: &'f mut Session<'_>,
    turn: &'f Turn<'_>,
    steps: &'f [Step],
) -> LocalBoxFuture<'f, anyhow::Result<BlockRecord>> {
    Box::pin(async move {
        let at = turn.subject.at;
        let mut block = Block::start(session, turn).await?;
        let readings = steps.iter().flat_map(|step| &step.readings);
        let keys = readings.map(|(_, key)| key.at(at)).collect();
        let path = steps.first().map_or("/health", |step| &step.path);
        let warm_up = session.order(path, block.service(), Duration::ZERO, Load::Closed);
        if block.warm_up(session, &warm_up, keys).await? {
            for step in steps {
                block.phase(session, step.load);
                let counted = match step.load.is_closed() {
                    true => turn.subject.row.counted(),
                    false => 1.0,
                };
                let length = step.length.mul_f64(counted);
                let order = session.order(&step.path, block.service(), length, step.load);
                let mut wanted = step.readings.iter();
                let memory = wanted.any(|(reading, _)| *reading == Reading::Pss);
                let database_before = session.database_time().await;
                let pids = block.service().pids();
                let mut seen = watched(session, &order, &pids, memory).await?;
                seen.run.rate *= counted;
                seen.database = since(database_before, session.database_time().await);
                if let Some(activity) = &mut session.activity {
                    seen.connections = activity.connections().await;
                }
                seen.note(&order, &step.readings, at, &mut block.observed);
            }
        }
        block.end(session).await
    })
}

/// What was seen of processes while they were under a load.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    /// What the generator found.
    pub run: Run,
    /// The processes' CPU time meanwhile.
    pub cpu: Option<Duration>,
    /// The most threads at once.
    pub threads: Option<usize>,
    /// The most memory at once, children included, where it was looked at.
    pub pss_kb: Option<u64>,
    /// The database's time meanwhile, where somebody asks for it.
    pub database: Option<Duration>,
    /// The connections to the database at the end, where somebody counts them.
    pub connections: Option<i64>,
}

impl Seen {
    /// A reading. A time that is less than the clock shows is not known.
    pub fn of(&self, reading: Reading) -> Option<f64> {
        let run = &self.run;
        let per_request = |time| run.per_request_us(time).filter(|us| *us > 0.0);
        match reading {
            Reading::Rate => Some(run.rate),
            Reading::Mean => run.mean_ms,
            Reading::Percentile(name) => run.percentiles_ms.get(name).copied(),
            Reading::Cpu => per_request(self.cpu),
            Reading::LoadCpu => per_request(run.generator_cpu),
            Reading::Threads => self.threads.map(|threads| threads as f64),
            Reading::Pss => self.pss_kb.map(megabytes),
            Reading::Database => per_request(self.database),
            Reading::DatabaseShare => {
                let database = self.of(Reading::Database)?;
                Some(100.0 * database / (self.of(Reading::Cpu)? + database))
            }
            Reading::Connections => self.connections.map(|count| count as f64),
        }
    }

    /// Notes readings by their keys, of what was measured at this; or why none of them counts. True where they do.
    pub fn note(
        &self,
        order: &Order,
        readings: &[(Reading, Key)],
        at: Option<At>,
        observed: &mut Observed,
    ) -> bool {
        if order.load.is_closed() {
            observed.most(GENERATOR_SHARE, self.run.generator_share);
        }
        let gate = self.run.gate(order);
        for (reading, key) in readings {
            let gate = gate
                .clone()
                .and_then(|()| self.has_enough_answers(*reading));
            observed.gated(gate, [(key.at(at), self.of(*reading))]);
        }
        gate.is_ok()
    }

    /// Why there are too few answers for a reading: only a percentile asks for many.
    fn has_enough_answers(&self, reading: Reading) -> Result<(), String> {
        match reading {
            Reading::Percentile(name) => enough_answers(self.run.answers, name),
            _ => Ok(()),
        }
    }
}

/// Why so many answers are too few for a percentile of this name.
pub fn enough_answers(answers: u64, name: &str) -> Result<(), String> {
    let fewest = fewest_answers(name);
    if (answers as f64) < fewest {
        return Err(format!(
            "{answers} answers are too few for a {name}: it needs {fewest}, so a longer load (--thorough)"
        ));
    }
    Ok(())
}

/// The fewest answers that a percentile of this name needs.
fn fewest_answers(name: &str) -> f64 {
    let percent: Option<f64> = name
        .strip_prefix('p')
        .and_then(|digits| digits.parse().ok());
    let beyond = 1.0 - percent.unwrap_or_default() / 100.0;
    (FEWEST_BEYOND / beyond).round()
}

/// Runs a load with an eye on the processes.
pub fn watched<'f>(
    session: &'f Session<'_>,
    order: &'f Order,
    pids: &'f [u32],
    look_at_memory: bool,
) -> LocalBoxFuture<'f, anyhow::Result<Seen>> {
    Box::pin(async move {
        let tree = process::tree(pids);
        let threads_now = || tree.iter().map(|pid| process::threads(*pid)).sum();
        let mut threads: Option<usize> = threads_now();
        let (mut pss_kb, mut looked) = (None, Instant::now());
        let cpu_before = process::cpu(pids);
        let load = session.oha.run(order);
        tokio::pin!(load);
        let run = loop {
            tokio::select! {
                run = &mut load => break run?,
                () = tokio::time::sleep(SAMPLE) => {
                    threads = threads.max(threads_now());
                    if look_at_memory && looked.elapsed() > MEMORY_SAMPLE {
                        pss_kb = pss_kb.max(process::tree_pss_kb(pids));
                        looked = Instant::now();
                    }
                }
            }
        };
        let cpu = since(cpu_before, process::cpu(pids));
        Ok(Seen {
            run,
            cpu,
            threads,
            pss_kb,
            ..Seen::default()
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use workshop_results::file::Mode;

    #[test]
    fn an_open_loop_on_a_slow_machine_is_as_long_as_a_p99_needs() -> anyhow::Result<()> {
        let plan = Plan::of("reads", Mode::Standard)?;
        let answers = |rate: f64| rate * open_loop(&plan, rate).as_secs_f64();
        assert_eq!(open_loop(&plan, 7_000.0).as_secs_f64(), plan.open);
        assert!((2_001.0..2_200.0).contains(&answers(900.0)));
        let longest = open_loop(&plan, 2.0).as_secs_f64();
        assert_eq!(longest, LONGEST * plan.open, "not twenty minutes");
        Ok(())
    }

    #[test]
    fn a_percentile_needs_answers_that_took_longer() {
        let counts = |answers, name| {
            let run = Run {
                answers,
                ..Run::default()
            };
            let seen = Seen {
                run,
                ..Seen::default()
            };
            seen.has_enough_answers(Reading::Percentile(name)).is_ok()
        };
        assert!(counts(40, "p50") && !counts(39, "p50"));
        assert!(counts(2_000, "p99") && !counts(1_999, "p99"));
        assert!(counts(20_000, "p99.9") && !counts(19_999, "p99.9"));
        assert!(Seen::default().has_enough_answers(Reading::Rate).is_ok());
    }
}
