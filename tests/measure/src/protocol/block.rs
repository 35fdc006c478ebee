//! One block: a fresh process, started, warmed up, loaded, looked at, stopped. Which loads it gets is its task's: [`Loads`].

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;

use crate::protocol::front;
use crate::protocol::ids;
use crate::protocol::plan::CONNECTIONS;
use crate::protocol::plan::HEADLINE_RATE;
use crate::protocol::plan::POOL_SIZE;
use crate::protocol::session::Session;
use crate::protocol::subject::Subject;
use crate::protocol::warmup;
use crate::protocol::warmup::Limits;
use crate::protocol::warmup::WarmedUp;
use crate::tools::first_answer;
use crate::tools::oha::Load;
use crate::tools::oha::Order;
use crate::tools::oha::Run;
use workshop_base::outcome::Trouble;
use workshop_base::process;
use workshop_base::target::Language;
use workshop_harness::front::Front;
use workshop_harness::service::Service;
use workshop_harness::service::Settings;
use workshop_harness::service::Stopped;
use workshop_harness::service::free_address;

/// Between two looks at the number of threads.
const SAMPLE: Duration = Duration::from_millis(200);
/// How many of a service's last log lines an error shows.
const LOG_LINES: usize = 12;

/// The key of a block's value that says how much of the machine the generator took; no metric, but a note.
pub const GENERATOR_SHARE: &str = "generator_share";
/// The key of a block's value that is 1 when the warm-up reached its ceiling before the service was steady.
pub const UNSTEADY: &str = "unsteady";
/// The key of a block's value that is 1 when the service had to be killed.
pub const HUNG: &str = "hung_on_shutdown";

/// The metrics that the closed loop speaks for.
const SATURATION: [&str; 3] = ["throughput", "cpu_per_request", "threads"];

/// What a block found out.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Observed {
    /// Values by metric key.
    pub values: BTreeMap<String, f64>,
    /// Metrics that this block may not speak for, with the reasons.
    pub invalid: BTreeMap<String, String>,
}

impl Observed {
    /// Notes a value, where there is one.
    pub fn value(&mut self, key: impl Into<String>, value: Option<f64>) {
        if let Some(value) = value {
            self.values.insert(key.into(), value);
        }
    }

    /// Takes the right to speak for these metrics away.
    pub fn invalid(&mut self, keys: &[String], reason: &str) {
        for key in keys {
            self.invalid.insert(key.clone(), reason.to_owned());
        }
    }
}

/// A service that has given its first answer.
pub struct Started {
    pub(crate) service: Service,
    /// What clients reach it through.
    front: Option<Front>,
    start_up: Duration,
    /// CPU time until then.
    pub(crate) cpu: Option<Duration>,
}

/// Starts a fresh process and waits for its first answer: a record, where the subject asks for nothing else.
///
/// # Errors
/// When it does not get there; the error shows its last log lines.
pub async fn start(session: &Session<'_>, subject: &Subject) -> anyhow::Result<Started> {
    let settings = Settings {
        pool_size: subject.pool_size,
        timeout: session.timeout,
        ..Settings::new(&session.database_url)
    };
    let address = free_address().context("no free port")?;
    let limit = subject.launch.limits.start;
    let record = || format!("/read/{}", ids::of(session.data_set).first);
    let path = subject.first_path.clone().unwrap_or_else(record);
    let asked = path.clone();
    let key = settings.api_keys.first().cloned().unwrap_or_default();

    let cancel = Cancel::default();
    let cancelled = Arc::clone(&cancel.0);
    let spawned = Instant::now();
    // Spawned here, not on a thread of the blocking pool: the kernel ends the service with the thread that spawned it.
    let mut service = Service::spawn(session.workspace, &subject.launch, &settings, address)
        .with_context(|| format!("{} cannot be started", subject.id()))?;
    let waited = tokio::task::spawn_blocking(move || {
        let alive = || !cancelled.load(Ordering::Relaxed) && service.exited().is_none();
        let took = first_answer::first_200(address, &path, &key, spawned, limit, alive);
        (service, took)
    });
    let (mut service, took) = waited
        .await
        .context("the wait for the first answer broke off")?;
    let Some(start_up) = took else {
        return Err(Trouble::new(format!(
            "{} has not given its first answer within {} s; its last words:\n{}",
            subject.id(),
            limit.as_secs(),
            service.log_tail(LOG_LINES)
        ))
        .expected(format!("200 from GET {asked}"))
        .next(format!("just check {}", subject.id()))
        .into());
    };
    let cpu = process::small_cpu(service.pid());
    let front = match &subject.front {
        Some(launch) => Some(launch.start(session, &settings, &mut service).await?),
        None => None,
    };
    Ok(Started {
        service,
        front,
        start_up,
        cpu,
    })
}

/// Tells the blocking wait that nobody waits for it any more.
#[derive(Default)]
struct Cancel(Arc<AtomicBool>);

impl Drop for Cancel {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// What a service is told, where its task asks for nothing else.
pub fn settings(database_url: &str) -> Settings {
    Settings {
        pool_size: POOL_SIZE,
        ..Settings::new(database_url)
    }
}

/// The load on a service's random reads.
pub fn order(session: &Session<'_>, service: &Service, duration: Duration, load: Load) -> Order {
    let path = format!("/read/{}", ids::of(session.data_set).pattern);
    order_for(&path, service, duration, load)
}

/// The load on random paths, which this regular expression describes.
pub fn order_for(path: &str, service: &Service, duration: Duration, load: Load) -> Order {
    Order {
        url: format!("{}{path}", service.base_url()),
        key: settings("").api_keys.first().cloned().unwrap_or_default(),
        connections: CONNECTIONS,
        duration,
        load,
    }
}

/// Finds a side's rough saturation: the last window of a warm-up.
///
/// # Errors
/// When the service does not start, or breaks a gate.
pub async fn calibrate(
    session: &mut Session<'_>,
    subject: &Subject,
    loads: &impl Loads,
) -> anyhow::Result<f64> {
    let limits = session.plan.warm_up_of(subject.runs_as);
    let limits = match subject.runs_as {
        Language::Kotlin => Limits {
            ceiling: session.plan.calibration,
            ..limits
        },
        Language::Rust => limits,
    };
    let started = start(session, subject).await?;
    let order = loads.warm_up(session, &started.service, limits.window);
    let warmed_up = warmup::run(session.oha, &order, &started.service.pids(), &limits).await?;
    let warmed_up = warmed_up.map_err(|reason| broken(subject, &started.service, &reason))?;
    let by_the_service = front::stop(started.front).await;
    started.service.stop().await;
    by_the_service?;
    Ok(warmed_up.last_rate)
}

fn broken(subject: &Subject, service: &Service, reason: &str) -> anyhow::Error {
    Trouble::new(format!(
        "{} cannot be measured: {reason}\n{}",
        subject.id(),
        service.log_tail(LOG_LINES)
    ))
    .expected("status 200 for every request")
    .next(format!("just check {}", subject.id()))
    .failed()
    .into()
}

/// What a task puts on a warm service, and what it notes of it.
pub trait Loads {
    /// The metrics that these loads speak for.
    fn keys(&self, subject: &Subject) -> Vec<String>;

    /// The load that a service is warmed up with.
    fn warm_up(&self, session: &Session<'_>, service: &Service, window: Duration) -> Order {
        order(session, service, window, Load::Closed)
    }

    /// Puts the loads on a service, one after the other. A broken gate is no error: it makes metrics invalid.
    ///
    /// # Errors
    /// When a tool cannot be run.
    fn put_on(
        &mut self,
        session: &mut Session<'_>,
        subject: &Subject,
        service: &Service,
        observed: &mut Observed,
        title: &str,
    ) -> impl Future<Output = anyhow::Result<()>>;
}

/// Random reads: a closed loop, then open loops at these rates (percent of the slower side's saturation, requests per
/// second).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reads<'a>(pub &'a [(u32, f64)]);

impl Loads for Reads<'_> {
    fn keys(&self, _subject: &Subject) -> Vec<String> {
        let at_rates = self.0.iter().flat_map(|(percent, _)| keys_at(*percent));
        SATURATION
            .map(str::to_owned)
            .into_iter()
            .chain(at_rates)
            .collect()
    }

    async fn put_on(
        &mut self,
        session: &mut Session<'_>,
        _subject: &Subject,
        service: &Service,
        observed: &mut Observed,
        title: &str,
    ) -> anyhow::Result<()> {
        session
            .progress
            .phase(&format!("{title}: closed loop, {CONNECTIONS} connections"));
        saturate(session, service, observed).await?;
        for (percent, rate) in self.0 {
            session
                .progress
                .phase(&format!("{title}: open loop, {rate:.0} requests/s"));
            let order = order(session, service, session.plan.open, Load::Open(*rate));
            offer(session, &order, service, *percent, observed).await?;
        }
        Ok(())
    }
}

/// Runs a block.
///
/// # Errors
/// When the service does not start or dies on the way, or a tool cannot be run. A broken gate is no error: it makes
/// metrics of the block invalid.
pub async fn run(
    session: &mut Session<'_>,
    subject: &Subject,
    loads: &mut impl Loads,
    limits: &Limits,
    title: &str,
) -> anyhow::Result<Observed> {
    let mut observed = Observed::default();
    session.progress.phase(&format!("{title}: starting"));
    let Started {
        mut service,
        front,
        start_up,
        cpu,
    } = start(session, subject).await?;
    let pid = service.pid();
    observed.value("start_up", Some(start_up.as_secs_f64() * 1e3));
    observed.value("start_up_cpu", cpu.map(|cpu| cpu.as_secs_f64() * 1e3));
    observed.value("size", Some(subject.size as f64 / 1e6));

    session
        .progress
        .phase(&format!("{title}: warming up until steady"));
    let pids = service.pids();
    let ticks_before = process::cpu(&pids);
    let warm_up_order = loads.warm_up(session, &service, limits.window);
    match warmup::run(session.oha, &warm_up_order, &pids, limits).await? {
        Ok(warmed_up) => {
            let warm_up_cpu = ticks_before
                .zip(process::cpu(&pids))
                .map(|(before, after)| after.saturating_sub(before));
            loads
                .put_on(session, subject, &service, &mut observed, title)
                .await?;
            after_warm_up(&mut observed, &warmed_up, warm_up_cpu);
        }
        Err(reason) => {
            observed.invalid(&loads.keys(subject), &reason);
            observed.invalid(&["memory", "pss"].map(str::to_owned), &reason);
        }
    }
    if !observed.invalid.contains_key("memory") {
        let memory = process::memory(pid);
        observed.value("memory", memory.map(|memory| megabytes(memory.peak_kb)));
        observed.value(
            "pss",
            memory.and_then(|memory| memory.pss_kb).map(megabytes),
        );
    }
    if let Some(status) = service.exited() {
        return Err(Trouble::new(format!(
            "{} ended under load ({status}); its last words:\n{}",
            subject.id(),
            service.log_tail(LOG_LINES)
        ))
        .expected("a service that keeps answering")
        .next(format!("just check {}", subject.id()))
        .failed()
        .into());
    }
    session.progress.phase(&format!("{title}: stopping"));
    let by_the_service = front::stop(front).await;
    if service.stop().await == Stopped::Killed {
        observed.value(HUNG, Some(1.0));
    }
    by_the_service?;
    Ok(observed)
}

/// What the warm-up cost, once it is known what a request costs.
fn after_warm_up(observed: &mut Observed, warmed_up: &WarmedUp, cpu: Option<Duration>) {
    // A warm-up that was cut short has no length of its own.
    observed.value("warm_up", warmed_up.steady_after_s);
    if warmed_up.steady_after_s.is_none() {
        observed.value(UNSTEADY, Some(1.0));
    }
    let per_request_us = observed.values.get("cpu_per_request").copied();
    let beyond = cpu.zip(per_request_us).map(|(cpu, per_request_us)| {
        cpu.as_secs_f64() * 1e3 - per_request_us * warmed_up.answers as f64 / 1e3
    });
    observed.value(
        "warm_up_cpu",
        beyond.map(|milliseconds| milliseconds.max(0.0)),
    );
}

async fn saturate(
    session: &mut Session<'_>,
    service: &Service,
    observed: &mut Observed,
) -> anyhow::Result<()> {
    let order = order(session, service, session.plan.saturation, Load::Closed);
    let database_before = session.database_time().await;
    let (run, cpu, threads) = watched(session, &order, &service.pids()).await?;
    let database_after = session.database_time().await;
    observed.value(GENERATOR_SHARE, run.generator_share);
    if let Err(reason) = run.gate(&order) {
        observed.invalid(&SATURATION.map(str::to_owned), &reason);
        return Ok(());
    }
    observed.value("throughput", Some(run.rate));
    observed.value("cpu_per_request", per_request_us(cpu, &run));
    observed.value("threads", threads.map(|threads| threads as f64));
    let database = database_before
        .zip(database_after)
        .map(|(before, after)| after.saturating_sub(before));
    observed.value(
        "database_per_request",
        per_request_us(database, &run).filter(|time| *time > 0.0),
    );
    Ok(())
}

/// Puts an open loop at this percentage of the slower side's saturation on a service.
pub(crate) async fn offer(
    session: &Session<'_>,
    order: &Order,
    service: &Service,
    percent: u32,
    observed: &mut Observed,
) -> anyhow::Result<()> {
    let (run, cpu, _) = watched(session, order, &service.pids()).await?;
    let keys = keys_at(percent);
    if let Err(reason) = run.gate(order) {
        observed.invalid(&keys, &reason);
        return Ok(());
    }
    let values = [run.p99_ms, run.p50_ms, per_request_us(cpu, &run)];
    for (key, value) in keys.into_iter().zip(values) {
        observed.value(key, value);
    }
    Ok(())
}

/// The metrics that the open loop at this rate speaks for: p99, median, CPU.
pub(crate) fn keys_at(percent: u32) -> [String; 3] {
    let p99 = if percent == HEADLINE_RATE {
        "p99".to_owned()
    } else {
        format!("p99_at_{percent}")
    };
    [
        p99,
        format!("p50_at_{percent}"),
        format!("cpu_per_request_at_{percent}"),
    ]
}

/// Runs a load with an eye on the processes: their CPU time meanwhile, and the most threads that were seen.
pub(crate) async fn watched(
    session: &Session<'_>,
    order: &Order,
    pids: &[u32],
) -> anyhow::Result<(Run, Option<Duration>, Option<usize>)> {
    let threads_now = || pids.iter().map(|pid| process::threads(*pid)).sum();
    let cpu_before = process::cpu(pids);
    let mut threads: Option<usize> = threads_now();
    let load = session.oha.run(order);
    tokio::pin!(load);
    let run = loop {
        tokio::select! {
            run = &mut load => break run?,
            () = tokio::time::sleep(SAMPLE) => threads = threads.max(threads_now()),
        }
    };
    let cpu = cpu_before
        .zip(process::cpu(pids))
        .map(|(before, after)| after.saturating_sub(before));
    Ok((run, cpu, threads))
}

pub(crate) fn per_request_us(time: Option<Duration>, run: &Run) -> Option<f64> {
    let time = time.filter(|_| run.answers > 0)?;
    Some(time.as_secs_f64() * 1e6 / run.answers as f64)
}

/// `/proc` counts in units of 1024 bytes, the tables in millions of bytes.
pub fn megabytes(kilobytes: u64) -> f64 {
    kilobytes as f64 * 1024.0 / 1e6
}
