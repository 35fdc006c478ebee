//! One block: a fresh process, started, warmed up, loaded, looked at, stopped. Which loads it gets is its task's.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use futures_util::future::LocalBoxFuture;

use crate::protocol::neighbors::CpuTimes;
use crate::protocol::plan::{Plan, shuffled};
use crate::protocol::session::Session;
use crate::protocol::subject::Subject;
use crate::protocol::warmup::{self, WarmUpLimits, WarmedUp};
use crate::protocol::{front, ids};
use crate::tools::first_answer;
use crate::tools::oha::{Load, Order};
use workshop_base::clock::{ClockJumps, Clocks};
use workshop_base::outcome::Trouble;
use workshop_base::process::{self, Memory, since};
use workshop_harness::front::Front;
use workshop_harness::service::{self, Service, Settings, Stopped, free_address};
use workshop_results::file::BlockRecord;
use workshop_results::key::{
    At, CPU_PER_REQUEST_SATURATED, HUNG, Key, MEMORY, PSS, SIZE, START_UP, START_UP_CPU, UNSTEADY,
    WARM_UP, WARM_UP_CPU,
};

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

    /// Takes the right to speak for anything away from a block in which the machine has slept: connections were idle, and caches cold. A date
    /// that jumps changes nothing, since times are taken by clocks without one.
    pub fn judge(&mut self, jumps: ClockJumps) {
        let slept = ClockJumps {
            set_s: 0.0,
            ..jumps
        };
        if let Some(reason) = slept.in_words() {
            let keys: Vec<Key> = self.values.keys().cloned().collect();
            self.invalid(keys, &reason);
        }
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
            tokens: session.tokens.clone(),
            ..Settings::new(
                subject
                    .database_url
                    .as_ref()
                    .unwrap_or(&session.database_url),
            )
        };
        let record = || format!("/read/{}", ids::of(session.lab.seeded.set).first);
        let path = subject.first_path.clone().unwrap_or_else(record);
        let limit = subject.launch.limits.start;
        let mut attempt = 1;
        loop {
            let (mut service, took) = spawn(session, subject, &settings, &path).await?;
            if let Some(start_up) = took {
                let cpu = process::cpu(&service.pids());
                let mut front = None;
                if let Some(launch) = &subject.front {
                    let started = launch.start(session.lab.workspace, &settings, &mut service);
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
                let seconds = limit.as_secs();
                let did = format!(
                    "did not give its first answer within {seconds} s; its log ends with\n{log}"
                );
                return Err(wrong(subject, did, format!("200 from GET {path}")).into());
            }
            attempt += 1;
        }
    })
}

/// What a service did in place of what was expected, for people.
fn wrong(subject: &Subject, did: impl Display, expected: impl Into<String>) -> Trouble {
    let id = subject.id();
    Trouble::new(format!("{id} {did}"))
        .expected(expected)
        .next(format!("just check {id}"))
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
    let mut service = Service::spawn(session.lab.workspace, &subject.launch, settings, address)
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
    limits: &'f WarmUpLimits,
) -> LocalBoxFuture<'f, anyhow::Result<WarmedUp>> {
    Box::pin(async move {
        let order = session.order(path, service, limits.window, Load::Closed);
        let warmed_up = warmup::run(&session.oha, &order, &service.pids(), limits).await?;
        warmed_up.map_err(|reason| {
            let log = service.log_tail(LOG_LINES);
            let did = format!("cannot be measured: {reason}\n{log}");
            wrong(subject, did, "status 200 for every request")
                .failed()
                .into()
        })
    })
}

/// A side's turn in a round, as it is planned.
pub struct Turn<'s> {
    /// The round, from 1.
    pub round: usize,
    /// The place in the order of all turns, from 1.
    pub place: usize,
    /// Whose turn it is.
    pub subject: &'s Subject,
    /// What the progress shows.
    pub title: String,
}

/// The turns of a plan's rounds: one of every subject in each round, in random order.
pub fn turns<'s>(plan: &Plan, subjects: &'s [Subject]) -> Vec<Turn<'s>> {
    let rounds = plan.rounds;
    let turns = (1..=rounds).flat_map(|round| {
        let subjects = shuffled(subjects.len()).into_iter().map(|at| &subjects[at]);
        subjects.map(move |subject| (round, subject))
    });
    let turns = turns.zip(1..).map(|((round, subject), place)| Turn {
        round,
        place,
        subject,
        title: format!(
            "round {round} of {rounds}, {}{}",
            subject.id(),
            subject.detail
        ),
    });
    turns.collect()
}

impl Turn<'_> {
    /// What was observed in it.
    pub fn record(&self, observed: Observed) -> BlockRecord {
        observed.record(self.round, self.place, self.subject.id())
    }
}

/// A block under way.
pub struct Block<'t> {
    turn: &'t Turn<'t>,
    /// Its process.
    pub started: Started,
    /// What was observed so far.
    pub observed: Observed,
    /// The machine before it.
    before: Option<CpuTimes>,
    clocks: Clocks,
    /// What the warm-up came to, and its CPU time.
    warm: Option<(WarmedUp, Option<Duration>)>,
}

impl<'t> Block<'t> {
    /// Starts a fresh process, and notes what its start took: the second of two. The first meets what the last block left behind, such as
    /// PostgreSQL's processes, which end after their clients; and it brings its files into the cache.
    pub fn start<'f>(
        session: &'f Session<'_>,
        turn: &'t Turn<'t>,
    ) -> LocalBoxFuture<'f, anyhow::Result<Self>>
    where
        't: 'f,
    {
        Box::pin(async move {
            let (subject, before) = (turn.subject, CpuTimes::now());
            let clocks = Clocks::now();
            session.progress.part(&turn.title);
            start(session, subject).await?.stop().await?;
            let started = start(session, subject).await?;
            let milliseconds = |time: Duration| time.as_secs_f64() * 1e3;
            let mut observed = Observed::default();
            observed.value(START_UP, Some(milliseconds(started.start_up)));
            observed.value(START_UP_CPU, started.cpu.map(milliseconds));
            observed.value(SIZE, Some(subject.size as f64 / 1e6));
            observed.values.extend(subject.constants.clone());
            Ok(Block {
                turn,
                started,
                observed,
                before,
                clocks,
                warm: None,
            })
        })
    }

    /// The service.
    pub fn service(&self) -> &Service {
        &self.started.service
    }

    /// Whose block it is.
    pub fn subject(&self) -> &'t Subject {
        self.turn.subject
    }

    /// Shows what it is at.
    pub fn phase(&self, session: &Session<'_>, what: impl Display) {
        let title = &self.turn.title;
        session.progress.phase(&format!("{title}: {what}"));
    }

    /// Warms the service up with a closed loop of these requests. Where that breaks a gate, these keys and the memory are invalid, and
    /// false comes back.
    pub fn warm_up<'f>(
        &'f mut self,
        session: &'f Session<'_>,
        order: &'f Order,
        keys: Vec<Key>,
    ) -> LocalBoxFuture<'f, anyhow::Result<bool>> {
        Box::pin(async move {
            self.phase(session, "warming up until steady");
            let pids = self.service().pids();
            let limits = session.plan.warm_up_of(self.subject().runs_as);
            let before = process::cpu(&pids);
            let warmed_up = warmup::run(&session.oha, order, &pids, &limits).await?;
            match warmed_up {
                Ok(warm) => self.warm = Some((warm, since(before, process::cpu(&pids)))),
                Err(reason) => {
                    let keys = keys.into_iter().chain([MEMORY, PSS]);
                    self.observed.invalid(keys, &reason);
                }
            }
            Ok(self.warm.is_some())
        })
    }

    /// Looks at a warm service for the last time, and stops it.
    pub fn end<'f>(
        mut self,
        session: &'f mut Session<'_>,
    ) -> LocalBoxFuture<'f, anyhow::Result<BlockRecord>>
    where
        't: 'f,
    {
        Box::pin(async move {
            if let Some((warmed_up, cpu)) = &self.warm {
                after_warm_up(&mut self.observed, warmed_up, *cpu);
                let memory = memory(process::tree_memory(self.service().pid()), None);
                self.observed.gated(Ok(()), memory);
            }
            let service = &mut self.started.service;
            if let Some(status) = service.exited() {
                let log = service.log_tail(LOG_LINES);
                let did = format!("ended under load ({status}); its log ends with\n{log}");
                let expected = "a service that keeps answering";
                return Err(wrong(self.turn.subject, did, expected).failed().into());
            }
            self.phase(session, "stopping");
            if self.started.stop().await? == Stopped::Killed {
                self.observed.value(HUNG, Some(1.0));
            }
            session
                .neighbors
                .since(self.before, &[self.turn.subject.id()]);
            let jumps = Clocks::now().since(&self.clocks);
            self.observed.judge(jumps);
            session.jumps = session.jumps.and(jumps);
            Ok(self.turn.record(self.observed))
        })
    }
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
