//! The article's table (exercise 8): size, start, memory, CPU, threads and latency of the port and of Kotlin, each in several
//! set-ups, so that a claim can rest on the best of Kotlin's; the knobs of the port one by one; and the ceiling above it.
//!
//! Two phases, both interleaved. In *the minute* the rows of the article idle together under its load, ten requests a second
//! each: none of them takes a hundredth of the machine, and what each takes is counted by the kernel. The *rounds* saturate
//! one row after the other.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::{join_all, try_join_all};
use tokio::process::Command;

use crate::protocol::block;

use crate::protocol::block::Loads;

use crate::protocol::block::Observed;

use crate::protocol::block::Reads;

use crate::protocol::block::Started;
use crate::protocol::ceiling;
use crate::protocol::gates::SameWork;
use crate::protocol::lab;
use crate::protocol::lab::Lab;
use crate::protocol::plan::CONNECTIONS;
use crate::protocol::plan::HEADLINE_RATE;
use crate::protocol::plan::POOL_SIZE;
use crate::protocol::plan::Plan;
use crate::protocol::plan::Sides;
use crate::protocol::plan::shuffled;
use crate::protocol::progress::Progress;
use crate::protocol::session::Session;
use crate::protocol::subject::Subject;
use crate::tables;
use crate::tables::article::{Article, Image, Knob};
use crate::tasks::heap;
use crate::tasks::kotlin_rows;
use crate::tasks::load;
use crate::tasks::load::Wanted;
use crate::tools::oha::Load;
use crate::tools::oha::Oha;
use crate::tools::oha::Order;
use workshop_base::process;
use workshop_base::target::Target;
use workshop_harness::container;
use workshop_harness::service::Service;
use workshop_results::file::BlockRecord;
use workshop_results::file::Metric;
use workshop_results::file::Mode;
use workshop_results::file::ResultFile;
use workshop_results::metrics;
use workshop_results::metrics::AT_TEN;
use workshop_results::metrics::CPU_ONCE;
use workshop_results::metrics::DATABASE;

/// The article's load, in requests per second.
const RATE: f64 = 10.0;
/// The connections that it comes over.
const FEW: u32 = 2;
/// How long a service is left alone after its first answer before its memory counts as idle.
const SETTLE: Duration = Duration::from_secs(2);
/// What the rows of the article take to start and to stop, one after the other.
const STARTS: Duration = Duration::from_secs(8);
/// What the preparations take: two trained JVMs, and the same-work gates.
const PREPARATIONS: Duration = Duration::from_secs(45);
/// How long pgbench runs in each round.
const DATABASE_TRIAL: Duration = Duration::from_secs(2);
/// The variants of the reference, with what their rows are called.
const KNOBS: [(&str, &str); 6] = [
    ("cargo-defaults", "cargo's own profile"),
    ("small", "opt-level s"),
    ("no-ping", "no ping"),
    ("mimalloc", "mimalloc"),
    ("no-shield", "no shield"),
    ("no-ping+mimalloc+no-shield", "no ping, mimalloc, no shield"),
];

/// How often the minute is repeated, and how long it is: the article's own length, or as long as a quick look allows.
fn minutes(mode: Mode) -> (usize, Duration) {
    match mode {
        Mode::Quick => (2, Duration::from_secs(10)),
        Mode::Standard => (2, Duration::from_secs(60)),
        Mode::Thorough => (5, Duration::from_secs(60)),
    }
}

/// The variants that a mode has time for: one by one, or all that help at once.
fn knobs(mode: Mode) -> &'static [(&'static str, &'static str)] {
    match mode {
        Mode::Quick => &KNOBS[KNOBS.len() - 1..],
        Mode::Standard | Mode::Thorough => &KNOBS,
    }
}

/// Measures the rows of the article's table.
///
/// # Errors
/// When the services do not do the same work (the outcome is *failed*, and says where they differ), one does not build or
/// start, or a tool is missing.
pub async fn measure(lab: &Lab<'_>, target: Target, wanted: &Wanted) -> anyhow::Result<ResultFile> {
    let oha = Oha::find(lab.workspace)?;
    let native = Native::build(lab, target, wanted)?;
    let shipped = lab
        .subject(Target::Kotlin)
        .await?
        .labelled("Kotlin as shipped");
    let rust = lab.subject(target).await?.labelled("Rust as shipped");
    let reference = match Target::Solution(wanted.exercise) {
        reference if reference == target => None,
        reference => Some(lab.subject(reference).await?),
    };

    let plan = Plan::article(wanted.mode);
    let expected = expected(&plan, wanted.mode, &native, reference.is_some());
    let names = [shipped.clone(), rust.clone()];
    load::announce(&names, plan.rounds, expected);
    load::show_load(lab, &plan);
    println!(
        "           Kotlin in four set-ups, the reference with {} knobs, and the ceiling; first ten requests a second",
        native.knobs.len()
    );
    let mut session = Session::new(lab, &oha, plan, Progress::begin(expected));
    let found = heap::search(&session, &shipped, wanted.mode).await?;
    session.progress.part("two JVMs note what a start needs");
    let sized = kotlin_rows::right_sized(&shipped, found.search.chosen_mb, lab.scratch())?;
    let kotlin = [
        shipped,
        sized.clone(),
        kotlin_rows::start_up_tuned(&session, &sized, lab.scratch()).await?,
        kotlin_rows::raw_jdbc(&session, &sized, lab.scratch()).await?,
    ];
    let rows = Rows {
        kotlin,
        rust,
        reference,
        native,
    };

    session
        .progress
        .part("the same work? 200 records, failures, round trips");
    let same = rows.same_work(lab, wanted.exercise).await?;
    let (times, length) = minutes(wanted.mode);
    let minutes = rows.minutes(&session, times, length).await?;
    let rates: Vec<(u32, f64)> = session
        .plan
        .rates
        .iter()
        .map(|percent| {
            (
                *percent,
                (found.saturation * f64::from(*percent) / 100.0).round(),
            )
        })
        .collect();
    let mut loads = OfRows {
        lab,
        rates: &rates,
        at_rates: rows.of_the_article().map(|row| row.id().to_owned()).into(),
        ceiling_note: None,
    };
    let all = rows.all();
    let mut blocks = session.rounds(&all, &mut loads).await?;
    blocks.records.iter_mut().for_each(cpu_once);

    let mut notes = load::standing_notes(&[], wanted.mode, &same);
    notes.extend(standing_notes(&rows, length));
    notes.extend(loads.ceiling_note);
    let metrics = rows.metrics(&session.plan, &blocks.records, &minutes, times);
    let mut invalid = load::invalid(&metrics, "throughput", &ids(&all));
    invalid.extend(load::invalid(
        &metrics,
        &format!("memory{AT_TEN}"),
        &rows.ids_of_the_article(),
    ));
    let [shipped, _, _, raw] = &rows.kotlin;
    invalid.extend(not_raw(&same.round_trips, shipped.id(), raw.id()));

    let mut manifest = lab.manifest(&all);
    manifest.connections = CONNECTIONS;
    manifest.round_trips = same.round_trips;
    manifest.rates = rates
        .iter()
        .map(|(percent, rate)| (percent.to_string(), *rate))
        .collect();
    lab::complete(&mut manifest, &blocks.records, session.progress.gone());
    let article = Article {
        kotlin: ids(&rows.kotlin),
        rust: rows.rust.id().to_owned(),
        reference: rows.reference().id().to_owned(),
        knobs: rows.native.titles(),
        ceiling: rows.native.ceiling.id().to_owned(),
        rate: RATE,
        seconds: length.as_secs_f64(),
        heap: found.search,
        images: images([rows.kotlin[0].id(), rows.rust.id()]).await,
    };
    blocks.records.extend(minutes);
    let result = load::assembled(&all, wanted, manifest, metrics, blocks, notes);
    Ok(ResultFile {
        invalid,
        tables: tables::article::tables(&result, &article),
        ..result
    })
}

fn ids(subjects: &[Subject]) -> Vec<String> {
    subjects
        .iter()
        .map(|subject| subject.id().to_owned())
        .collect()
}

/// The variants of the reference, and the ceiling.
struct Native {
    knobs: Vec<Subject>,
    ceiling: Subject,
}

impl Native {
    fn build(lab: &Lab<'_>, target: Target, wanted: &Wanted) -> anyhow::Result<Native> {
        println!("building what {target} is held against; the first time this takes minutes");
        let knobs = knobs(wanted.mode)
            .iter()
            .map(|(name, label)| lab.variant(wanted.exercise, name, label));
        Ok(Native {
            knobs: knobs.collect::<anyhow::Result<_>>()?,
            ceiling: lab.yardstick()?,
        })
    }

    fn titles(&self) -> Vec<Knob> {
        let titles = self.knobs.iter().map(|knob| Knob {
            side: knob.id().to_owned(),
            title: knob.side.label.clone(),
        });
        titles.collect()
    }
}

/// What all phases take. Open loops are for the rows of the article only.
fn expected(plan: &Plan, mode: Mode, native: &Native, with_reference: bool) -> Duration {
    let others = native.knobs.len() + 1 + usize::from(with_reference);
    let rows = Sides {
        kotlin: 4,
        rust: 1 + others,
    };
    let left_out = plan.open * (plan.rates.len() * plan.rounds * others) as u32;
    let (times, length) = minutes(mode);
    let minutes = (length + SETTLE + STARTS) * times as u32;
    PREPARATIONS + heap::expected(plan, mode) + minutes + plan.expected(rows) - left_out
}

/// All rows of the table.
struct Rows {
    kotlin: [Subject; 4],
    rust: Subject,
    /// What the knobs are held against, where that is not the port itself.
    reference: Option<Subject>,
    native: Native,
}

impl Rows {
    fn reference(&self) -> &Subject {
        self.reference.as_ref().unwrap_or(&self.rust)
    }

    /// The rows that are held against the article's: those of Kotlin, and the port.
    fn of_the_article(&self) -> [&Subject; 5] {
        let [shipped, sized, start_up, jdbc] = &self.kotlin;
        [shipped, sized, start_up, jdbc, &self.rust]
    }

    fn ids_of_the_article(&self) -> Vec<String> {
        self.of_the_article().map(|row| row.id().to_owned()).into()
    }

    fn all(&self) -> Vec<Subject> {
        let of_the_article = self.of_the_article();
        of_the_article
            .into_iter()
            .chain(&self.reference)
            .chain(&self.native.knobs)
            .chain([&self.native.ceiling])
            .cloned()
            .collect()
    }

    /// The gate, in two parts: each service opens a pool, and the database has so many connections.
    async fn same_work(&self, lab: &Lab<'_>, exercise: u8) -> anyhow::Result<SameWork> {
        let of_the_article = self.of_the_article().map(Clone::clone);
        let others: Vec<Subject> = [&self.kotlin[0]]
            .into_iter()
            .chain(&self.reference)
            .chain(&self.native.knobs)
            .chain([&self.native.ceiling])
            .cloned()
            .collect();
        Ok(load::same_work(lab, &of_the_article, exercise)
            .await?
            .and(load::same_work(lab, &others, exercise).await?))
    }

    /// The article's load on all of its rows at once, each time on fresh processes.
    async fn minutes(
        &self,
        session: &Session<'_>,
        times: usize,
        length: Duration,
    ) -> anyhow::Result<Vec<BlockRecord>> {
        let rows = self.of_the_article();
        let mut records = Vec::new();
        for time in 1..=times {
            session.progress.part(&format!(
                "{RATE} requests a second on {} services at once, {time} of {times}",
                rows.len()
            ));
            // One after the other, so that no start disturbs another.
            let mut started = Vec::new();
            for place in shuffled(rows.len()) {
                let subject = rows[place];
                started.push((subject, block::start(session, subject).await?));
            }
            tokio::time::sleep(SETTLE).await;
            let observed = try_join_all(
                started
                    .iter()
                    .map(|(_, started)| at_ten(session, started, length)),
            )
            .await?;
            for ((subject, _), observed) in started.iter().zip(observed) {
                records.push(BlockRecord {
                    round: time,
                    place: records.len() + 1,
                    side: subject.id().to_owned(),
                    values: observed.values,
                    invalid: observed.invalid,
                });
            }
            join_all(
                started
                    .into_iter()
                    .map(|(_, started)| started.service.stop()),
            )
            .await;
        }
        Ok(records)
    }

    /// The metrics of both phases. The port is held against every set-up of Kotlin and against the ceiling, each knob
    /// against the reference without it.
    fn metrics(
        &self,
        plan: &Plan,
        rounds: &[BlockRecord],
        minutes: &[BlockRecord],
        times: usize,
    ) -> Vec<Metric> {
        let pair =
            |side: &Subject, against: &Subject| (side.id().to_owned(), against.id().to_owned());
        let against_kotlin: Vec<(String, String)> = self
            .kotlin
            .iter()
            .map(|kotlin| pair(&self.rust, kotlin))
            .collect();
        let mut pairs = against_kotlin.clone();
        pairs.push(pair(&self.rust, &self.native.ceiling));
        pairs.extend(
            self.native
                .knobs
                .iter()
                .map(|knob| pair(knob, self.reference())),
        );
        let mut metrics = metrics::from_blocks(
            &metrics::of_article(&plan.rates, HEADLINE_RATE, CONNECTIONS),
            rounds,
            &ids(&self.all()),
            &pairs,
            plan.rounds_needed(),
        );
        metrics.extend(metrics::from_blocks(
            &metrics::of_minute(),
            minutes,
            &self.ids_of_the_article(),
            &against_kotlin,
            times,
        ));
        metrics
    }
}

/// The article's load on one service.
async fn at_ten(
    session: &Session<'_>,
    started: &Started,
    length: Duration,
) -> anyhow::Result<Observed> {
    let pid = started.service.pid();
    let mut observed = Observed::default();
    let idle = process::memory(pid);
    observed.value(
        "memory_at_idle",
        idle.map(|memory| block::megabytes(memory.peak_kb)),
    );
    observed.value(
        "pss_at_idle",
        idle.and_then(|memory| memory.pss_kb).map(block::megabytes),
    );

    let order = Order {
        connections: FEW,
        ..block::order(session, &started.service, length, Load::Open(RATE))
    };
    let before = process::small_cpu(pid);
    let (run, _, threads) = block::watched(session, &order, &[pid]).await?;
    let after = process::small_cpu(pid);
    let cpu = before
        .zip(after)
        .map(|(before, after)| after.saturating_sub(before));
    let memory = process::memory(pid);
    let values = [
        (
            "memory",
            memory.map(|memory| block::megabytes(memory.peak_kb)),
        ),
        (
            "pss",
            memory
                .and_then(|memory| memory.pss_kb)
                .map(block::megabytes),
        ),
        ("p50", run.p50_ms),
        ("p99", run.p99_ms),
        ("threads", threads.map(|threads| threads as f64)),
        (
            "cpu_load",
            cpu.map(|cpu| cpu.as_secs_f64() / length.as_secs_f64() * 100.0),
        ),
        ("cpu_per_request", block::per_request_us(cpu, &run)),
        ("cpu_in_all", after.map(|cpu| cpu.as_secs_f64())),
    ];
    for (key, value) in values {
        let key = format!("{key}{AT_TEN}");
        match run.gate(&order) {
            Ok(()) => observed.value(key, value),
            Err(reason) => observed.invalid(&[key], &reason),
        }
    }
    Ok(observed)
}

/// The loads of the rounds: a closed loop for every row, open loops at fixed rates for those of the article, and pgbench
/// beside the ceiling.
struct OfRows<'a> {
    lab: &'a Lab<'a>,
    rates: &'a [(u32, f64)],
    at_rates: Vec<String>,
    /// Why the database alone is unknown.
    ceiling_note: Option<String>,
}

impl<'a> OfRows<'a> {
    fn reads(&self, subject: &Subject) -> Reads<'a> {
        if self.at_rates.iter().any(|id| id == subject.id()) {
            Reads(self.rates)
        } else {
            Reads(&[])
        }
    }
}

impl Loads for OfRows<'_> {
    fn keys(&self, subject: &Subject) -> Vec<String> {
        self.reads(subject).keys(subject)
    }

    async fn put_on(
        &mut self,
        session: &mut Session<'_>,
        subject: &Subject,
        service: &Service,
        observed: &mut Observed,
        title: &str,
    ) -> anyhow::Result<()> {
        let mut reads = self.reads(subject);
        reads
            .put_on(session, subject, service, observed, title)
            .await?;
        if subject.id() != ceiling::ID {
            return Ok(());
        }
        session
            .progress
            .phase(&format!("{title}: the database alone, by pgbench"));
        match self.lab.ceiling(POOL_SIZE, DATABASE_TRIAL).await {
            Some(Ok(rate)) => observed.value(DATABASE, Some(rate)),
            Some(Err(error)) => {
                self.ceiling_note = Some(format!("the database alone is unknown: {error}"));
            }
            None => {
                self.ceiling_note = Some(
                    "the database alone is unknown: there is no pgbench on this machine".to_owned(),
                );
            }
        }
        Ok(())
    }
}

/// What a service needs once: to its first answer, and to become as fast as it gets.
fn cpu_once(record: &mut BlockRecord) {
    let value = |key: &str| record.values.get(key).copied();
    if let Some((start, warm_up)) = value("start_up_cpu").zip(value("warm_up_cpu")) {
        record.values.insert(CPU_ONCE.to_owned(), start + warm_up);
    }
}

/// Why the row of raw JDBC is none: it makes as many round trips as the service as shipped.
fn not_raw(round_trips: &BTreeMap<String, f64>, shipped: &str, raw: &str) -> Option<String> {
    let (of_shipped, of_raw) = (round_trips.get(shipped)?, round_trips.get(raw)?);
    (*of_raw > of_shipped - 0.5).then(|| {
        format!(
            "{raw} makes {of_raw:.2} round trips a read, {shipped} makes {of_shipped:.2}: it does not read by JDBC alone"
        )
    })
}

fn standing_notes(rows: &Rows, length: Duration) -> Vec<String> {
    let [_, sized, start_up, _] = &rows.kotlin;
    vec![
        format!(
            "the set-ups of Kotlin add up: {}, then {}, then a read by JDBC without Exposed; a claim rests on the best of them",
            sized.side.command, start_up.side.command
        ),
        "the size of Kotlin is its jar's, and that of its notes for the start where it has them; the JVM comes on top".to_owned(),
        format!(
            "the article's load, {RATE} requests a second for {} s over {FEW} connections, was on its rows at the same time: it leaves the machine nearly idle",
            length.as_secs()
        ),
        "memory is the most that was ever resident; a default heap may grow to a quarter of the machine, and it takes what it may".to_owned(),
        format!("threads follow cores, and this machine has {}", process::cores()),
        "each knob is the reference as shipped with one thing changed".to_owned(),
    ]
}

/// The sizes of the images of these targets, by the Docker engine.
async fn images(targets: [&str; 2]) -> Vec<Image> {
    join_all(targets.map(async |side| {
        let name = format!("{}-{side}", container::NAME);
        let size = image_mb(&name).await;
        Image {
            side: side.to_owned(),
            unpacked_mb: size,
            missing: size
                .is_none()
                .then(|| format!("there is no Docker image {name} here")),
        }
    }))
    .await
}

async fn image_mb(name: &str) -> Option<f64> {
    let output = Command::new("docker")
        .args(["image", "inspect", "--format", "{{.Size}}", name])
        .kill_on_drop(true)
        .output()
        .await
        .ok()?;
    let bytes: f64 = String::from_utf8_lossy(&output.stdout)
        .trim()
        .parse()
        .ok()?;
    Some(bytes / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_raw_jdbc_that_still_commits_is_no_such_row() {
        let round_trips =
            |raw| BTreeMap::from([("kotlin".to_owned(), 2.0), ("raw".to_owned(), raw)]);
        assert_eq!(not_raw(&round_trips(1.01), "kotlin", "raw"), None);
        let reason = not_raw(&round_trips(2.0), "kotlin", "raw").unwrap();
        assert!(reason.contains("raw makes 2.00 round trips"), "{reason}");
    }

    #[test]
    fn what_is_needed_once_is_the_start_and_the_warm_up() {
        let mut record = BlockRecord {
            round: 1,
            place: 1,
            side: "kotlin".to_owned(),
            values: [("start_up_cpu", 2000.0), ("warm_up_cpu", 15_000.0)]
                .map(|(key, value)| (key.to_owned(), value))
                .into(),
            invalid: BTreeMap::new(),
        };
        cpu_once(&mut record);
        assert_eq!(record.values[CPU_ONCE], 17_000.0);
        record.values = BTreeMap::from([("start_up_cpu".to_owned(), 2000.0)]);
        cpu_once(&mut record);
        assert!(!record.values.contains_key(CPU_ONCE));
    }

    #[test]
    fn a_minute_is_the_articles_where_there_is_time_for_it() {
        assert_eq!(minutes(Mode::Standard).1, Duration::from_secs(60));
        for mode in [Mode::Quick, Mode::Standard, Mode::Thorough] {
            assert!(minutes(mode).0 >= 2, "one minute has no interval");
        }
    }
}
