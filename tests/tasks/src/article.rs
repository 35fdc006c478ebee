//! The article's table (exercise 8): size, start, memory, CPU, threads and latency of the port and of Kotlin, each in several
//! set-ups, so that a claim can rest on the best of Kotlin's; the knobs of the port one by one; and the ceiling above it.
//!
//! Three phases. In *the minute* the rows of the article idle together under its load, ten requests per second each: none of
//! them takes a hundredth of the machine, and what each takes is counted by the kernel. The *rounds* saturate one row after
//! the other. The *duets* compare CPU per request.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::{join_all, try_join_all};

use crate::tables::article::beside_published;
use crate::{heap, kotlin_rows, reads};
use workshop_base::process;
use workshop_base::target::Language;
use workshop_measure::protocol::block::{self, Observed, Started, memory, turns};
use workshop_measure::protocol::experiment::Found;
use workshop_measure::protocol::lab::Lab;
use workshop_measure::protocol::load::{self, Reading, watched};
use workshop_measure::protocol::metrics;
use workshop_measure::protocol::plan::{self, POOL_SIZE, shuffled};
use workshop_measure::protocol::rows::{Asked, CEILING};
use workshop_measure::protocol::session::Session;
use workshop_measure::protocol::subject::{Subject, pairs, round_trips};
use workshop_measure::tools::oha::{Load, Order};
use workshop_results::figures::figure;
use workshop_results::file::{BlockRecord, ResultFile};
use workshop_results::key::{
    CPU_IN_ALL, CPU_LOAD, CPU_ONCE, CPU_PER_REQUEST, IDLE, Key, MEMORY, P50, P99, PGBENCH,
    START_UP_CPU, TEN, THREADS, THROUGHPUT, WARM_UP_CPU,
};
use workshop_results::shown::Cell;

/// The article's load, in requests per second.
const RATE: f64 = 10.0;
/// The connections that it comes over.
const FEW: u32 = 2;
/// How long a service is left alone after its first answer before its memory counts as idle.
const SETTLE: Duration = Duration::from_secs(2);
/// The variable of a row that reads by JDBC alone.
const REPOSITORY: &str = "RECORD_REPOSITORY";

/// Measures the rows of the article's table.
pub async fn measure(lab: &Lab<'_>, asked: &Asked) -> anyhow::Result<ResultFile> {
    let (mut session, mut subjects) = Session::begin(lab, asked, &asked.task).await?;
    let path = session.records();
    session.show_load(&path);
    let heap = heap::search(&session, &subjects[0], asked.mode).await?;
    kotlin_rows::set_up(&session, &mut subjects, heap.chosen_mb, lab.scratch()).await?;
    let subjects = session.same_work(subjects).await?;
    let in_the_article = |subject: &Subject| {
        subject.runs_as == Language::Kotlin || subject.id() == asked.target.to_string()
    };
    // The shared rates are percentages of what Kotlin can do, and a peer may not be able to do as much.
    let is_at_rates = |subject: &&Subject| in_the_article(subject) && !subject.side.peer;
    let not_a_peer = |subject: &&Subject| !subject.side.peer;

    let in_the_minute = |subject: &&Subject| subject.side.peer || in_the_article(subject);
    let of_the_minute: Vec<&Subject> = subjects.iter().filter(in_the_minute).collect();
    let (times, seconds): (usize, u64) = plan::extent("article", asked.mode)?;
    let length = Duration::from_secs(seconds);
    let mut minutes = Vec::new();
    for time in 1..=times {
        let part = format!("{RATE} requests per second on all rows at once, {time} of {times}");
        session.progress.part(&part);
        minutes.extend(a_minute(&session, &of_the_minute, length, time).await?);
    }

    let rates = session.rates_of(heap.saturation);
    let steps = load::steps(&session.plan, &path, &rates);
    let mut rounds = Vec::new();
    for turn in turns(&session.plan, &subjects) {
        let steps = match is_at_rates(&turn.subject) {
            true => &steps[..],
            false => &steps[..1],
        };
        let mut block = load::block(&mut session, &turn, steps).await?;
        cpu_once(&mut block);
        rounds.push(block);
    }
    for block in rounds.iter_mut().filter(|block| block.side == CEILING) {
        let alone = session.database_alone(POOL_SIZE).await;
        block.values.extend(alone.map(|rate| (PGBENCH, rate)));
    }
    let duets = session.duets(&subjects, &pairs(&subjects), &path).await?;

    let mut definitions = reads::of_load(&session.plan)?;
    definitions.extend(metrics::closed("article")?);
    // A peer that breaks a gate has no value; the claims do not hang on it.
    let saturated = session
        .judged(&definitions, &subjects, rounds, Some(duets))
        .decided_by(&THROUGHPUT, subjects.iter().filter(not_a_peer));
    let of_minutes = session
        .judged(&metrics::closed("minute")?, &subjects, minutes, None)
        .decided_by(&MEMORY.at(TEN), subjects.iter().filter(is_at_rates));
    let mut found = Found { rates, ..saturated }.and(of_minutes);
    let round_trips = round_trips(&subjects);
    let reads_raw = |row: &&Subject| row.row.env.contains_key(REPOSITORY);
    for raw in subjects.iter().filter(reads_raw) {
        let wrong = not_raw(&round_trips, subjects[0].id(), raw.id());
        found.invalid.extend(wrong);
    }
    session.notes.extend(notes(&subjects, length));
    let mut result = session.finish(&subjects, found).await?;
    with_the_database(&mut result);
    result.tables.push(heap.trials);
    result.tables.push(beside_published(&result));
    Ok(result)
}

/// What the database alone does is a row above the ceiling, and a note.
fn with_the_database(result: &mut ResultFile) {
    let Some(rate) = result.value(&PGBENCH, CEILING) else {
        return;
    };
    for table in &mut result.tables {
        match table.id.as_str() {
            "saturated" => table.notes.push(format!(
                "pgbench alone, without a service, reads {} records/s",
                figure(rate)
            )),
            "ceiling" => {
                table.row("pgbench, no service", vec![Cell::Number(rate)]);
                table.rows.rotate_right(1);
            }
            _ => {}
        }
    }
}

/// The article's load on all of its rows at once, on fresh processes.
async fn a_minute(
    session: &Session<'_>,
    rows: &[&Subject],
    length: Duration,
    round: usize,
) -> anyhow::Result<Vec<BlockRecord>> {
    // One after the other, so that no start disturbs another.
    let mut started = Vec::new();
    for place in shuffled(rows.len()) {
        started.push((rows[place], block::start(session, rows[place]).await?));
    }
    tokio::time::sleep(SETTLE).await;
    let loads = started
        .iter()
        .map(|(_, started)| at_ten(session, started, length));
    let observed = try_join_all(loads).await?;
    let records = started.iter().zip(observed).enumerate();
    let records =
        records.map(|(place, ((subject, _), seen))| seen.record(round, place + 1, subject.id()));
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
    observed.gated(Ok(()), memory(process::tree_memory(pid), Some(IDLE)));
    let order = Order {
        connections: FEW,
        ..session.order(
            &session.records(),
            &started.service,
            length,
            Load::Open(RATE),
        )
    };
    let seen = watched(session, &order, &[pid], false).await?;
    let in_all = process::cpu(&[pid]);
    let load = seen.cpu.map(|cpu| cpu.div_duration_f64(length) * 100.0);
    let readings = [
        (Reading::Percentile("p50"), P50),
        (Reading::Percentile("p99"), P99),
        (Reading::Threads, THREADS),
        (Reading::Cpu, CPU_PER_REQUEST),
    ];
    seen.note(&order, &readings, Some(TEN), &mut observed);
    let values = [
        (CPU_LOAD, load),
        (CPU_IN_ALL, in_all.map(|cpu| cpu.as_secs_f64())),
    ];
    let values = values.map(|(key, value)| (key.at(TEN), value));
    let memory = memory(process::tree_memory(pid), Some(TEN));
    observed.gated(seen.run.gate(&order), memory.into_iter().chain(values));
    Ok(observed)
}

/// What a service needs once: to its first answer, and to become as fast as it gets.
fn cpu_once(record: &mut BlockRecord) {
    let value = |key: &Key| record.values.get(key).copied();
    if let Some((start, warm_up)) = value(&START_UP_CPU).zip(value(&WARM_UP_CPU)) {
        record.values.insert(CPU_ONCE, start + warm_up);
    }
}

/// Why a row of raw JDBC is none: it makes as many round trips as the service as shipped.
fn not_raw(round_trips: &BTreeMap<String, f64>, shipped: &str, raw: &str) -> Option<String> {
    let (of_shipped, of_raw) = (round_trips.get(shipped)?, round_trips.get(raw)?);
    (*of_raw > of_shipped - 0.5).then(|| {
        format!(
            "{raw} makes {of_raw:.2} round trips per read, {shipped} makes {of_shipped:.2}: it does not read by JDBC alone"
        )
    })
}

fn notes(subjects: &[Subject], length: Duration) -> [String; 5] {
    let set_ups = subjects
        .iter()
        .filter(|subject| subject.runs_as == Language::Kotlin && !subject.side.peer);
    let set_ups: Vec<&str> = set_ups
        .map(|subject| subject.side.command.as_str())
        .collect();
    [
        format!(
            "the set-ups of Kotlin: {}; a claim rests on the best of them",
            set_ups.join(", then ")
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
