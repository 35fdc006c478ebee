//! The pool (exercise 6): the same reads at saturation with pools of several sizes, and where more connections stop to help;
//! then the hidden ping, a round trip that the pool makes before it lends a connection, as a knob.

use std::time::Duration;

use crate::protocol::block::{Reading, Step};
use crate::protocol::experiment::{Asked, Experiment, against_the_first, ids};
use crate::protocol::lab::Lab;
use crate::protocol::metrics;
use crate::protocol::plan::{POOL_SIZE, Plan};
use crate::protocol::subject::Subject;
use crate::tables::pool::{self, Knee, PoolSweep};
use crate::tools::database::Watch;
use crate::tools::oha::Load;
use workshop_base::process;
use workshop_base::target::{Language, Target};
use workshop_results::file::{Metric, Mode, ResultFile};
use workshop_results::metrics::pool_end;

/// The share of the best throughput that is enough: the noise of a block is as large.
const ENOUGH: f64 = 0.95;
/// The patch that takes the ping away.
const NO_PING: &str = "no-ping";
/// What the database alone is called beside the sides.
const DATABASE: &str = "pgbench";
/// The sides of the knob.
const WITH_PING: &str = "with-ping";
const WITHOUT_PING: &str = "without-ping";

/// The sizes of the pools; the last is as large as the load's connections, so no request waits for one. A JVM gets fewer of
/// them outside the thorough mode: each size needs one of its own, and a JVM that still compiles would say nothing.
fn sizes(mode: Mode, language: Language) -> &'static [u16] {
    match (mode, language) {
        (Mode::Quick, _) => &[2, 32],
        (Mode::Standard, Language::Kotlin) => &[2, 8, 32],
        (Mode::Standard, Language::Rust) | (Mode::Thorough, _) => &[2, 4, 8, 16, 32],
    }
}

/// Measures a target and Kotlin with pools of several sizes, and the reference with and without the ping.
pub async fn measure(lab: &Lab<'_>, asked: &Asked) -> anyhow::Result<ResultFile> {
    let every_size = sizes(asked.mode, Language::Rust);
    let [kotlin, rust] = [
        lab.subject(Target::Kotlin).await?,
        lab.subject(asked.target).await?,
    ];
    let sweep = [kotlin, rust.labelled("Rust")];
    let reference = Target::Solution(asked.exercise);
    let pinging = if asked.target == reference {
        sweep[1].clone()
    } else {
        lab.subject(reference).await?
    };
    let silent = lab.variant(asked.exercise, NO_PING, NO_PING).await?;
    let knob = [
        pinging.renamed(WITH_PING, "with ping"),
        silent.renamed(WITHOUT_PING, "no ping"),
    ];
    let pools: Vec<Subject> = sweep
        .iter()
        .flat_map(|side| with_pools(side, asked.mode))
        .collect();
    let plan = Plan::of("pool", asked.mode)?;
    let ping = Plan::of("ping", asked.mode)?;
    let around = ping.round([Language::Rust; 2]) * ping.rounds as u32;
    let all = pools.iter().chain(&knob).cloned().collect();
    let mut experiment = Experiment::begin(lab, asked, all, plan, 1, around);
    let path = experiment.session.records();
    experiment.show_load(&path);
    experiment
        .same_work(&[&sweep[0], &sweep[1]], asked.exercise)
        .await?;
    experiment
        .same_work(&[&knob[0], &knob[1]], asked.exercise)
        .await?;

    let maintenance = lab.server.connect_for_maintenance().await?;
    experiment.session.activity = Some(Watch::of(maintenance, &lab.database_url)?);
    let saturation = experiment.session.plan.saturation;
    let closed = |readings: &[(Reading, &str)]| {
        vec![Step {
            path: path.clone(),
            load: Load::Closed,
            length: Duration::from_secs_f64(saturation),
            readings: readings
                .iter()
                .map(|(reading, key)| (*reading, (*key).to_owned()))
                .collect(),
            only_for: None,
        }]
    };
    let of_pools = [
        (Reading::Rate, "throughput"),
        (Reading::P99, "p99"),
        (Reading::Connections, "connections"),
    ];
    let records = experiment.rounds(&pools, &mut closed(&of_pools)).await?;
    let defined = metrics::of("pool", every_size.iter().map(|size| (size, size)))?;
    experiment.judge(&defined, &records, &against_the_first(&sweep));

    experiment.session.plan = ping;
    let of_knob = [
        (Reading::Rate, "throughput"),
        (Reading::P99, "p99_saturated"),
    ];
    let records = experiment.rounds(&knob, &mut closed(&of_knob)).await?;
    let pair = [(WITHOUT_PING.to_owned(), WITH_PING.to_owned())];
    experiment.duets(&pair, &path).await?;
    experiment.judge(&metrics::closed("knob")?, &records, &pair);

    experiment.notes.push(format!(
        "the knob is the reference with and without `test_before_acquire`, both with a pool of {POOL_SIZE}"
    ));
    experiment.notes.push(format!(
        "once the {} cores are busy, a further connection adds a process of PostgreSQL that waits for a core",
        process::cores()
    ));
    let mut database = Vec::new();
    for size in every_size {
        let alone = experiment.database_alone(*size).await;
        database.extend(alone.map(|rate| (*size, rate)));
    }
    let largest = every_size.last().copied().unwrap_or(POOL_SIZE);
    experiment.decide(&format!("throughput{}", pool_end(largest)), &ids(&sweep));
    experiment.decide("throughput", &ids(&knob));
    let knees = ids(&sweep)
        .iter()
        .filter_map(|side| knee(side, &throughputs(&experiment.metrics, side, every_size)))
        .chain(knee(DATABASE, &database))
        .collect();
    let sweep = PoolSweep {
        sizes: every_size.to_vec(),
        enough: ENOUGH,
        knees,
        database: database.into_iter().collect(),
    };
    let mut result = experiment.finish().await;
    result.tables.push(pool::pools(&result, &sweep));
    result.charts.push(pool::throughput(&result, &sweep));
    Ok(result)
}

/// A subject with each size that its language gets.
fn with_pools(subject: &Subject, mode: Mode) -> impl Iterator<Item = Subject> {
    let sizes = sizes(mode, subject.side.language).iter();
    sizes.map(|size| Subject {
        pool_size: *size,
        key_end: pool_end(*size),
        ..subject.clone()
    })
}

/// A side's throughput by size, where it counts.
fn throughputs(metrics: &[Metric], side: &str, sizes: &[u16]) -> Vec<(u16, f64)> {
    let of = |size: &u16| {
        let key = format!("throughput{}", pool_end(*size));
        let metric = metrics.iter().find(|metric| metric.key == key)?;
        Some((*size, metric.value(side)?.value))
    };
    sizes.iter().filter_map(of).collect()
}

/// The smallest pool that reaches enough of the best one's throughput.
fn knee(side: &str, throughputs: &[(u16, f64)]) -> Option<Knee> {
    let (best, most) = throughputs
        .iter()
        .max_by(|(_, one), (_, other)| one.total_cmp(other))?;
    let (size, throughput) = throughputs
        .iter()
        .find(|(_, throughput)| *throughput >= ENOUGH * most)?;
    Some(Knee {
        side: side.to_owned(),
        size: *size,
        share: throughput / most,
        best: *best,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::plan::CONNECTIONS;

    #[test]
    fn the_knee_is_the_smallest_pool_within_five_percent_of_the_best() {
        let found = |throughputs: &[(u16, f64)]| {
            let knee = knee("kotlin", throughputs)?;
            Some((knee.size, knee.best, (knee.share * 100.0).round()))
        };
        let rises_and_falls = [
            (2, 5000.0),
            (4, 8000.0),
            (8, 9600.0),
            (16, 10_000.0),
            (32, 9000.0),
        ];
        assert_eq!(found(&rises_and_falls), Some((8, 16, 96.0)));
        assert_eq!(found(&[(2, 9500.0), (4, 10_000.0)]), Some((2, 4, 95.0)));
        assert_eq!(found(&[(2, 100.0), (32, 200.0)]), Some((32, 32, 100.0)));
        assert_eq!(found(&[]), None);
    }

    #[test]
    fn every_mode_ends_with_a_pool_in_which_no_request_waits() {
        for mode in [Mode::Quick, Mode::Standard, Mode::Thorough] {
            for language in [Language::Kotlin, Language::Rust] {
                let sizes = sizes(mode, language);
                assert!(sizes.is_sorted());
                assert_eq!(sizes.last().map(|size| u32::from(*size)), Some(CONNECTIONS));
            }
        }
    }
}
