//! The article's table (exercise 8): size, start, memory, CPU, threads and latency of the port and of Kotlin, each in several
//! set-ups, so that a claim can rest on the best of Kotlin's; the knobs of the port one by one; and the ceiling above it.
//!
//! Three phases. In *the minute* the rows of the article idle together under its load, ten requests per second each: none of
//! them takes a hundredth of the machine, and what each takes is counted by the kernel. The *rounds* saturate one row after
//! the other. The *duets* compare CPU per request.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::{join_all, try_join_all};
use tokio::process::Command;

use crate::protocol::block::{self, Observed, Started, per_request_us, since, watched};
use crate::protocol::ceiling;
use crate::protocol::experiment::{Asked, Experiment, Pair, ids};
use crate::protocol::lab::Lab;
use crate::protocol::metrics;
use crate::protocol::plan::{POOL_SIZE, Plan, shuffled};
use crate::protocol::session::{Session, order};
use crate::protocol::subject::Subject;
use crate::tables::article::{Article, Image, Knob, tables};
use crate::tasks::{heap, kotlin_rows, reads};
use crate::tools::oha::{Load, Order};
use workshop_base::process;
use workshop_base::target::Target;
use workshop_harness::container;
use workshop_results::file::{BlockRecord, Mode, ResultFile};
use workshop_results::metrics::{AT_TEN, CPU_ONCE, DATABASE};

/// The article's load, in requests per second.
const RATE: f64 = 10.0;
/// The connections that it comes over.
const FEW: u32 = 2;
/// How long a service is left alone after its first answer before its memory counts as idle.
const SETTLE: Duration = Duration::from_secs(2);
/// What the preparations take: two trained JVMs, two gates, and starting and stopping the rows of the article.
const PREPARATIONS: Duration = Duration::from_secs(60);
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
        Mode::Quick => (1, Duration::from_secs(10)),
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
pub async fn measure(lab: &Lab<'_>, asked: &Asked) -> anyhow::Result<ResultFile> {
    let mut knobs_built = Vec::new();
    for (name, label) in knobs(asked.mode) {
        knobs_built.push(lab.variant(asked.exercise, name, label).await?);
    }
    let knobs = knobs_built;
    let top = lab.yardstick().await?;
    let shipped = lab
        .subject(Target::Kotlin)
        .await?
        .labelled("Kotlin as shipped");
    let rust = lab.subject(asked.target).await?.labelled("Rust as shipped");
    let reference = match Target::Solution(asked.exercise) {
        reference if reference == asked.target => None,
        reference => Some(lab.subject(reference).await?),
    };
    let plan = Plan::of(&asked.task, asked.mode)?;
    let (times, length) = minutes(asked.mode);
    let kotlin_stand_ins = vec![shipped.clone(); 4];
    let native: Vec<Subject> = [&rust]
        .into_iter()
        .chain(&reference)
        .chain(&knobs)
        .chain([&top])
        .cloned()
        .collect();
    let around =
        PREPARATIONS + heap::expected(&plan, asked.mode) + (length + SETTLE) * times as u32;
    let everybody = kotlin_stand_ins.into_iter().chain(native.clone()).collect();
    let mut experiment =
        Experiment::begin(lab, asked, everybody, plan, 4 + 1 + knobs.len(), around);
    let path = experiment.session.records();
    experiment.show_load(&path);
    println!(
        "           Kotlin in four set-ups, the reference with {} knobs, and the ceiling; first ten requests per second",
        knobs.len()
    );
    let session = &experiment.session;
    let found = heap::search(session, &shipped, asked.mode).await?;
    session.progress.part("two JVMs note what a start needs");
    let sized = kotlin_rows::right_sized(&shipped, found.search.chosen_mb, lab.scratch())?;
    let kotlin = [
        shipped,
        sized.clone(),
        kotlin_rows::start_up_tuned(session, &sized, lab.scratch()).await?,
        kotlin_rows::raw_jdbc(session, &sized, lab.scratch()).await?,
    ];
    experiment.subjects = kotlin.iter().chain(&native).cloned().collect();
    let of_the_article: Vec<Subject> = kotlin.iter().chain([&rust]).cloned().collect();

    // The gate, in two parts: each service opens a pool, and the database has so many connections.
    let first: Vec<&Subject> = of_the_article.iter().collect();
    experiment.same_work(&first, asked.exercise).await?;
    let second: Vec<&Subject> = [&kotlin[0]].into_iter().chain(&native[1..]).collect();
    experiment.same_work(&second, asked.exercise).await?;

    let mut minute = Vec::new();
    for time in 1..=times {
        let part = format!("{RATE} requests per second on all rows at once, {time} of {times}");
        experiment.session.progress.part(&part);
        let of_minute = a_minute(&experiment.session, &of_the_article, length, time).await?;
        minute.extend(of_minute);
    }
    experiment.set_rates(found.saturation);
    let mut steps = block::steps(&experiment.session.plan, &path, &experiment.rates);
    for open in &mut steps[1..] {
        open.only_for = Some(ids(&of_the_article));
    }
    let all = experiment.subjects.clone();
    let mut records = experiment.rounds(&all, &mut steps).await?;
    records.iter_mut().for_each(cpu_once);
    for record in records
        .iter_mut()
        .filter(|record| record.side == ceiling::ID)
    {
        let alone = experiment.database_alone(POOL_SIZE).await;
        record
            .values
            .extend(alone.map(|rate| (DATABASE.to_owned(), rate)));
    }
    experiment.records.clone_from(&records);
    let reference = reference.as_ref().unwrap_or(&rust);
    let pair = |side: &Subject, against: &Subject| (side.id().to_owned(), against.id().to_owned());
    let against_kotlin: Vec<Pair> = kotlin.iter().map(|kotlin| pair(&rust, kotlin)).collect();
    let others = knobs.iter().map(|knob| pair(knob, reference));
    let others = [pair(&rust, &top)].into_iter().chain(others);
    let pairs: Vec<Pair> = against_kotlin.iter().cloned().chain(others).collect();
    experiment.duets(&pairs, &path).await?;
    let mut definitions = reads::of_load(&experiment.session.plan)?;
    definitions.extend(metrics::closed("article")?);
    experiment.judge(&definitions, &records, &pairs);
    experiment.judge(&metrics::closed("minute")?, &minute, &against_kotlin);
    experiment.decide("throughput", &ids(&all));
    experiment.decide(&format!("memory{AT_TEN}"), &ids(&of_the_article));
    let [shipped, sized, start_up, raw] = &kotlin;
    experiment
        .invalid
        .extend(not_raw(&experiment.round_trips, shipped.id(), raw.id()));
    experiment.notes.extend(notes(sized, start_up, length));
    experiment.records.extend(minute);
    let article = Article {
        kotlin: ids(&kotlin),
        rust: rust.id().to_owned(),
        reference: reference.id().to_owned(),
        knobs: knobs
            .iter()
            .map(|knob| Knob {
                side: knob.id().to_owned(),
                title: knob.side.label.clone(),
            })
            .collect(),
        ceiling: top.id().to_owned(),
        rate: RATE,
        seconds: length.as_secs_f64(),
        heap: found.search,
        images: images([shipped.id(), rust.id()]).await,
    };
    let mut result = experiment.finish().await;
    result.tables = tables(&result, &article);
    Ok(result)
}

/// The article's load on all of its rows at once, on fresh processes.
async fn a_minute(
    session: &Session<'_>,
    rows: &[Subject],
    length: Duration,
    round: usize,
) -> anyhow::Result<Vec<BlockRecord>> {
    // One after the other, so that no start disturbs another.
    let mut started = Vec::new();
    for place in shuffled(rows.len()) {
        started.push((&rows[place], block::start(session, &rows[place]).await?));
    }
    tokio::time::sleep(SETTLE).await;
    let loads = started
        .iter()
        .map(|(_, started)| at_ten(session, started, length));
    let observed = try_join_all(loads).await?;
    let records = started.iter().zip(observed).enumerate();
    let records = records.map(|(place, ((subject, _), observed))| BlockRecord {
        round,
        place: place + 1,
        side: subject.id().to_owned(),
        values: observed.values,
        invalid: observed.invalid,
    });
    let records = records.collect();
    join_all(started.into_iter().map(|(_, started)| started.stop())).await;
    Ok(records)
}

/// The article's load on one service.
async fn at_ten(
    session: &Session<'_>,
    started: &Started,
    length: Duration,
) -> anyhow::Result<Observed> {
    let pid = started.service.pid();
    let mut observed = Observed::default();
    observed.memory(pid, "memory_at_idle", "pss_at_idle");
    let order = Order {
        connections: FEW,
        ..order(
            &session.records(),
            &started.service,
            length,
            Load::Open(RATE),
        )
    };
    let before = process::cpu(&[pid]);
    let seen = watched(session, &order, &[pid], false).await?;
    let after = process::cpu(&[pid]);
    let cpu = since(before, after);
    let (run, seconds) = (&seen.run, length.as_secs_f64());
    let values = [
        ("p50", run.p50_ms),
        ("p99", run.p99_ms),
        ("threads", seen.threads.map(|threads| threads as f64)),
        (
            "cpu_load",
            cpu.map(|cpu| cpu.as_secs_f64() / seconds * 100.0),
        ),
        ("cpu_per_request", per_request_us(cpu, run)),
        ("cpu_in_all", after.map(|cpu| cpu.as_secs_f64())),
    ];
    let keys = ["memory", "pss"]
        .into_iter()
        .chain(values.iter().map(|(key, _)| *key));
    match run.gate(&order) {
        Err(reason) => observed.invalid(keys.map(|key| format!("{key}{AT_TEN}")), &reason),
        Ok(()) => {
            observed.memory(pid, format!("memory{AT_TEN}"), format!("pss{AT_TEN}"));
            for (key, value) in values {
                observed.value(format!("{key}{AT_TEN}"), value);
            }
        }
    }
    Ok(observed)
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
            "{raw} makes {of_raw:.2} round trips per read, {shipped} makes {of_shipped:.2}: it does not read by JDBC alone"
        )
    })
}

fn notes(sized: &Subject, start_up: &Subject, length: Duration) -> [String; 5] {
    [
        format!(
            "the set-ups of Kotlin add up: {}, then {}, then a read by JDBC without Exposed; a claim rests on the best of them",
            sized.side.command, start_up.side.command
        ),
        format!(
            "the article's load, {RATE} requests per second for {} s over {FEW} connections, was on its rows at the same time: it leaves the machine nearly idle",
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
}
