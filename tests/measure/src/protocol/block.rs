//! One block: a fresh process, started, warmed up, loaded, looked at, stopped. Which loads it gets is its task's: [`Loads`].

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use async_trait::async_trait;
use futures_util::future::LocalBoxFuture;

use crate::protocol::plan::{HEADLINE_RATE, Plan};
use crate::protocol::session::Session;
use crate::protocol::subject::Subject;
use crate::protocol::warmup::{self, Limits, WarmedUp};
use crate::protocol::{front, ids};
use crate::tools::first_answer;
use crate::tools::oha::{Load, Order, Run};
use workshop_base::outcome::Trouble;
use workshop_base::process::{self, Memory, since};
use workshop_harness::front::Front;
use workshop_harness::service::{self, Service, Settings, Stopped, free_address};
use workshop_results::file::BlockRecord;
use workshop_results::key::{
    At, CPU_PER_REQUEST_SATURATED, DATABASE_PER_REQUEST, GENERATOR_SHARE, HUNG, Key, MEMORY, P50,
    P99, PSS, SIZE, START_UP, START_UP_CPU, THREADS, THROUGHPUT, UNSTEADY, WARM_UP, WARM_UP_CPU,
};

/// Between two looks at the number of threads.
const SAMPLE: Duration = Duration::from_millis(200);
/// Between two looks at the memory. Adding up a JVM's pages takes the kernel milliseconds.
const MEMORY_SAMPLE: Duration = Duration::from_millis(500);
/// How many of a service's last log lines an error shows.
const LOG_LINES: usize = 12;
/// How often a port is tried that somebody else took between our choosing and the service's binding.
const PORT_ATTEMPTS: usize = 3;

/// What a block found out.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Observed {
    /// Values by metric key.
    pub values: BTreeMap<Key, f64>,
    /// Metrics that this block may not speak for, with the reasons.
    pub invalid: BTreeMap<Key, String>,
}

impl Observed {
    /// Notes a value, where there is one.
    pub fn value(&mut self, key: Key, value: Option<f64>) {
        self.values.extend(value.map(|value| (key, value)));
    }

    /// Notes the larger of a value and the one that is there.
    pub fn most(&mut self, key: Key, value: Option<f64>) {
        let before = self.values.get(&key).copied();
        let most = value.map(|value| before.map_or(value, |before| before.max(value)));
        self.value(key, most);
    }

    /// Takes the right to speak for these metrics away.
    pub fn invalid(&mut self, keys: impl IntoIterator<Item = Key>, reason: &str) {
        let keys = keys.into_iter();
        self.invalid
            .extend(keys.map(|key| (key, reason.to_owned())));
    }

    /// As a block of a side; rounds and places count from 1.
    pub fn record(self, round: usize, place: usize, side: &str) -> BlockRecord {
        BlockRecord {
            round,
            place,
            side: side.to_owned(),
            values: self.values,
            invalid: self.invalid,
        }
    }

    /// Notes what was seen of a load, the most of it where an earlier load has noted the same; or why none of it counts.
    pub fn gated(
        &mut self,
        gate: Result<(), String>,
        values: impl IntoIterator<Item = (Key, Option<f64>)>,
    ) {
        for (key, value) in values {
            match &gate {
                Ok(()) => self.most(key, value),
                Err(reason) => self.invalid([key], reason),
            }
        }
    }
}

/// A service that has given its first answer.
pub struct Started {
    /// The service.
    pub service: Service,
    front: Option<Front>,
    start_up: Duration,
    cpu: Option<Duration>,
}

impl Started {
    /// Stops the service, and what is in front of it.
    pub async fn stop(self) -> anyhow::Result<Stopped> {
        let by_the_service = front::stop(self.front).await;
        let stopped = self.service.stop().await;
        by_the_service?;
        Ok(stopped)
    }
}

/// Starts a fresh process and waits for its first answer: a record, where the subject asks for nothing else.
pub fn start<'f>(
    session: &'f Session<'_>,
    subject: &'f Subject,
) -> LocalBoxFuture<'f, anyhow::Result<Started>> {
    Box::pin(async move {
        let settings = Settings {
            pool_size: subject.pool_size,
            timeout: session.timeout,
            prices: session.prices.clone(),
            ..Settings::new(
                subject
                    .database_url
                    .as_ref()
                    .unwrap_or(&session.database_url),
            )
        };
        let record = || format!("/read/{}", ids::of(session.data_set).first);
        let path = subject.first_path.clone().unwrap_or_else(record);
        let limit = subject.launch.limits.start;
        let mut attempt = 1;
        loop {
            let (mut service, took) = spawn(session, subject, &settings, &path).await?;
            if let Some(start_up) = took {
                let cpu = process::cpu(&service.pids());
                let mut front = None;
                if let Some(launch) = &subject.front {
                    let started = launch.start(session.workspace, &settings, &mut service);
                    front = Some(started.await?);
                }
                return Ok(Started {
                    service,
                    front,
                    start_up,
                    cpu,
                });
            }
            let log = service.log_tail(LOG_LINES);
            let lost_its_port = service.exited().is_some() && service::port_was_taken(&log);
            if !lost_its_port || attempt == PORT_ATTEMPTS {
                return Err(Trouble::new(format!(
                    "{} did not give its first answer within {} s; its log ends with\n{log}",
                    subject.id(),
                    limit.as_secs(),
                ))
                .expected(format!("200 from GET {path}"))
                .next(format!("just check {}", subject.id()))
                .into());
            }
            attempt += 1;
        }
    })
}

/// Spawns the service on a free port; how long its first answer took, if there was one.
async fn spawn(
    session: &Session<'_>,
    subject: &Subject,
    settings: &Settings,
    path: &str,
) -> anyhow::Result<(Service, Option<Duration>)> {
    let address = free_address().context("no free port")?;
    let limit = subject.launch.limits.start;
    let (path, header) = (path.to_owned(), session.header.clone());
    // Who waits for the first answer has this one, and the blocking wait ends when nobody does anymore.
    let waiting = Arc::new(());
    let waited_for = Arc::downgrade(&waiting);
    let spawned = Instant::now();
    // Spawned here, not on a thread of the blocking pool: the kernel ends the service with the thread that spawned it.
    let mut service = Service::spawn(session.workspace, &subject.launch, settings, address)
        .with_context(|| format!("{} cannot be started", subject.id()))?;
    let waited = tokio::task::spawn_blocking(move || {
        let alive = || waited_for.strong_count() > 0 && service.exited().is_none();
        let took = first_answer::first_200(address, &path, &header, spawned, limit, alive);
        (service, took)
    });
    let waited = waited.await;
    drop(waiting);
    waited.context("the wait for the first answer was cut short")
}

/// Finds a side's rough saturation: the last window of a warm-up.
pub async fn saturation(
    session: &Session<'_>,
    subject: &Subject,
    path: &str,
) -> anyhow::Result<f64> {
    let limits = session.plan.warm_up_of(subject.runs_as);
    let started = start(session, subject).await?;
    let warmed_up = warm_up(session, subject, &started.service, path, &limits).await?;
    started.stop().await?;
    Ok(warmed_up.last_rate)
}

/// Warms a service up; a broken gate is an error.
pub fn warm_up<'f>(
    session: &'f Session<'_>,
    subject: &'f Subject,
    service: &'f Service,
    path: &'f str,
    limits: &'f Limits,
) -> LocalBoxFuture<'f, anyhow::Result<WarmedUp>> {
    Box::pin(async move {
        let order = session.order(path, service, limits.window, Load::Closed);
        let warmed_up = warmup::run(&session.oha, &order, &service.pids(), limits).await?;
        warmed_up.map_err(|reason| {
            Trouble::new(format!(
                "{} cannot be measured: {reason}\n{}",
                subject.id(),
                service.log_tail(LOG_LINES)
            ))
            .expected("status 200 for every request")
            .next(format!("just check {}", subject.id()))
            .failed()
            .into()
        })
    })
}

/// What a task puts on a warm service, and what it notes of it.
#[async_trait(?Send)]
pub trait Loads {
    /// The random paths that a service is warmed up with.
    fn path(&self) -> &str;

    /// The load that a service is warmed up with, in windows of this length.
    fn warm_up(
        &self,
        session: &Session<'_>,
        _subject: &Subject,
        service: &Service,
        window: Duration,
    ) -> Order {
        session.order(self.path(), service, window, Load::Closed)
    }

    /// The metrics that these loads speak for.
    fn keys(&self, subject: &Subject) -> Vec<Key>;

    /// Puts the loads on a service, one after the other. A broken gate is no error: it makes metrics invalid.
    async fn put_on(
        &mut self,
        session: &mut Session<'_>,
        subject: &Subject,
        service: &Service,
        observed: &mut Observed,
        title: &str,
    ) -> anyhow::Result<()>;
}

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

/// One load and what is noted of it, under which keys.
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
    /// The ids of the sides that get this load; none for all.
    pub only_for: Option<Vec<String>>,
}

/// Loads that are nothing but data, the first one's path being that of the warm-up.
pub type Steps = Vec<Step>;

/// Random paths: a closed loop, then open loops at these rates (percent of the slower side's saturation, requests per
/// second).
pub fn steps(plan: &Plan, path: &str, rates: &[(u32, f64)]) -> Steps {
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
        only_for: None,
    };
    let open = rates.iter().map(|(percent, rate)| Step {
        load: Load::Open(*rate),
        length: Duration::from_secs_f64(plan.open),
        readings: vec![
            (Reading::Percentile("p99"), p99_at(*percent)),
            (Reading::Percentile("p50"), P50.at(At::Rate(*percent))),
        ],
        ..closed.clone()
    });
    std::iter::once(closed.clone()).chain(open).collect()
}

/// The key of the p99 at this percentage of the slower side's saturation.
pub fn p99_at(percent: u32) -> Key {
    P99.at((percent != HEADLINE_RATE).then_some(At::Rate(percent)))
}

#[async_trait(?Send)]
impl Loads for Steps {
    fn path(&self) -> &str {
        self.first().map_or("/health", |step| &step.path)
    }

    fn keys(&self, subject: &Subject) -> Vec<Key> {
        let steps = self.iter().filter(|step| step.is_for(subject));
        let readings = steps.flat_map(|step| &step.readings);
        readings.map(|(_, key)| key.at(subject.at)).collect()
    }

    async fn put_on(
        &mut self,
        session: &mut Session<'_>,
        subject: &Subject,
        service: &Service,
        observed: &mut Observed,
        title: &str,
    ) -> anyhow::Result<()> {
        for step in self.iter().filter(|step| step.is_for(subject)) {
            session.progress.phase(&format!("{title}: {}", step.load));
            step.put_on(session, subject, service, observed).await?;
        }
        Ok(())
    }
}

impl Step {
    fn is_for(&self, subject: &Subject) -> bool {
        let only = self.only_for.as_ref();
        only.is_none_or(|only| only.iter().any(|id| id == subject.id()))
    }

    async fn put_on(
        &self,
        session: &mut Session<'_>,
        subject: &Subject,
        service: &Service,
        observed: &mut Observed,
    ) -> anyhow::Result<()> {
        let order = session.order(&self.path, service, self.length, self.load);
        let wants = |wanted: Reading| self.readings.iter().any(|(reading, _)| *reading == wanted);
        let database_before = session.database_time().await;
        let pids = service.pids();
        let mut seen = watched(session, &order, &pids, wants(Reading::Pss)).await?;
        seen.database = since(database_before, session.database_time().await);
        if let Some(activity) = &mut session.activity {
            seen.connections = activity.connections().await;
        }
        seen.note(&order, &self.readings, subject.at, observed);
        Ok(())
    }
}

/// Runs a block. A broken gate is no error: it makes metrics of the block invalid.
pub fn run<'f>(
    session: &'f mut Session<'_>,
    subject: &'f Subject,
    loads: &'f mut dyn Loads,
    title: &'f str,
) -> LocalBoxFuture<'f, anyhow::Result<Observed>> {
    Box::pin(async move {
        let mut observed = Observed::default();
        session.progress.phase(&format!("{title}: starting"));
        let mut started = start(session, subject).await?;
        let service = &mut started.service;
        let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
        observed.value(START_UP, Some(milliseconds(started.start_up)));
        observed.value(START_UP_CPU, started.cpu.map(milliseconds));
        observed.value(SIZE, Some(subject.size as f64 / 1e6));
        observed.values.extend(subject.constants.clone());

        let warming = format!("{title}: warming up until steady");
        session.progress.phase(&warming);
        let pids = service.pids();
        let limits = session.plan.warm_up_of(subject.runs_as);
        let order = loads.warm_up(session, subject, service, limits.window);
        let cpu_before = process::cpu(&pids);
        match warmup::run(&session.oha, &order, &pids, &limits).await? {
            Ok(warmed_up) => {
                let cpu = since(cpu_before, process::cpu(&pids));
                loads
                    .put_on(session, subject, service, &mut observed, title)
                    .await?;
                after_warm_up(&mut observed, &warmed_up, cpu);
                observed.gated(Ok(()), memory(process::tree_memory(service.pid()), None));
            }
            Err(reason) => {
                observed.invalid(loads.keys(subject), &reason);
                observed.invalid([MEMORY, PSS], &reason);
            }
        }
        if let Some(status) = service.exited() {
            return Err(Trouble::new(format!(
                "{} ended under load ({status}); its log ends with\n{}",
                subject.id(),
                service.log_tail(LOG_LINES)
            ))
            .expected("a service that keeps answering")
            .next(format!("just check {}", subject.id()))
            .failed()
            .into());
        }
        session.progress.phase(&format!("{title}: stopping"));
        if started.stop().await? == Stopped::Killed {
            observed.value(HUNG, Some(1.0));
        }
        Ok(observed)
    })
}

/// What the warm-up cost, once it is known what a request costs.
fn after_warm_up(observed: &mut Observed, warmed_up: &WarmedUp, cpu: Option<Duration>) {
    // A warm-up that was cut short has no length of its own.
    observed.value(WARM_UP, warmed_up.steady_after_s);
    if warmed_up.steady_after_s.is_none() {
        observed.value(UNSTEADY, Some(1.0));
    }
    let per_request_us = observed.values.get(&CPU_PER_REQUEST_SATURATED).copied();
    let beyond = cpu.zip(per_request_us).map(|(cpu, per_request_us)| {
        let steady = per_request_us * warmed_up.answers as f64 / 1e3;
        (cpu.as_secs_f64() * 1e3 - steady).max(0.0)
    });
    observed.value(WARM_UP_CPU, beyond);
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
        let values = readings.iter();
        let values = values.map(|(reading, key)| (key.at(at), self.of(*reading)));
        let counts = gate.is_ok();
        observed.gated(gate, values);
        counts
    }
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

/// Memory at its peak, and its share now, measured at this.
pub fn memory(memory: Option<Memory>, at: Option<At>) -> [(Key, Option<f64>); 2] {
    let peak_kb = memory.map(|memory| memory.peak_kb);
    let share_kb = memory.and_then(|memory| memory.pss_kb);
    [
        (MEMORY.at(at), peak_kb.map(megabytes)),
        (PSS.at(at), share_kb.map(megabytes)),
    ]
}

/// `/proc` counts in units of 1024 bytes, the tables in millions of bytes.
pub fn megabytes(kilobytes: u64) -> f64 {
    kilobytes as f64 * 1024.0 / 1e6
}
