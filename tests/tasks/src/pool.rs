//! The pool (exercise 6): the same reads at saturation with pools of several sizes, and where more connections stop to help;
//! then the hidden ping, a round trip that the pool makes before it lends a connection, as a knob.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::tables::pool;
use workshop_base::process;
use workshop_base::target::Language;
use workshop_measure::protocol::block::{Reading, Step};
use workshop_measure::protocol::experiment::{Asked, Experiment, ids, pairs};
use workshop_measure::protocol::lab::Lab;
use workshop_measure::protocol::metrics;
use workshop_measure::protocol::plan::{POOL_SIZE, Plan};
use workshop_measure::protocol::subject::Subject;
use workshop_measure::tools::database::Watch;
use workshop_measure::tools::oha::Load;
use workshop_results::file::{Mode, ResultFile};
use workshop_results::metrics::pool_end;

/// The plan and the rows of the knob.
const KNOB: &str = "ping";

/// The sizes of the pools; the last is as large as the load's connections, so no request waits for one. A JVM gets fewer of
/// them outside the thorough mode: each size needs one of its own, and a JVM that still compiles would say nothing.
fn sizes(mode: Mode, language: Language) -> &'static [u16] {
    match (mode, language) {
        (Mode::Quick, _) => &[2, 32],
        (Mode::Standard, Language::Kotlin) => &[2, 8, 32],
        (Mode::Standard | Mode::Thorough, _) => &[2, 4, 8, 16, 32],
    }
}

/// Measures a target and Kotlin with pools of several sizes, and the reference with and without the ping.
pub async fn measure(lab: &Lab<'_>, asked: &Asked) -> anyhow::Result<ResultFile> {
    let every_size = sizes(asked.mode, Language::Rust);
    let of_knob = Asked {
        task: KNOB.to_owned(),
        ..asked.clone()
    };
    let knob = lab.subjects(&of_knob).await?.subjects;
    let mut experiment = Experiment::begin(lab, asked, &asked.task).await?;
    let sweep = experiment.subjects.clone();
    experiment.subjects.extend(knob.clone());
    let path = experiment.session.records();
    experiment.show_load(&path);
    experiment.same_work().await?;

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
    let pools = sweep.iter().flat_map(|side| with_pools(side, asked.mode));
    let pools: Vec<Subject> = pools.collect();
    let of_pools = [
        (Reading::Rate, "throughput"),
        (Reading::P99, "p99"),
        (Reading::Connections, "connections"),
    ];
    let records = experiment.rounds(&pools, &mut closed(&of_pools)).await?;
    let defined = metrics::of("pool", every_size.iter().map(|size| (size, size)))?;
    experiment.judge(&defined, &records, &pairs(&sweep));

    experiment.session.plan = Plan::of(KNOB, asked.mode)?;
    let of_knob = [
        (Reading::Rate, "throughput"),
        (Reading::P99, "p99_saturated"),
    ];
    let records = experiment.rounds(&knob, &mut closed(&of_knob)).await?;
    experiment.duets(&pairs(&knob), &path).await?;
    experiment.judge(&metrics::closed("knob")?, &records, &pairs(&knob));

    experiment.notes.push(format!(
        "the knob is the reference with and without `test_before_acquire`, both with a pool of {POOL_SIZE}"
    ));
    experiment.notes.push(format!(
        "once the {} cores are busy, a further connection adds a process of PostgreSQL that waits for a core",
        process::cores()
    ));
    let mut database = BTreeMap::new();
    for size in every_size {
        let alone = experiment.database_alone(*size).await;
        database.extend(alone.map(|rate| (*size, rate)));
    }
    let largest = every_size.last().copied().unwrap_or(POOL_SIZE);
    experiment.decide(&format!("throughput{}", pool_end(largest)), &ids(&sweep));
    experiment.decide("throughput", &ids(&knob));
    let mut result = experiment.finish().await?;
    let (table, chart) = pool::drawn(&result, &ids(&sweep), every_size, &database);
    result.tables.push(table);
    result.charts.push(chart);
    Ok(result)
}

/// A subject with each size that its language gets.
fn with_pools(subject: &Subject, mode: Mode) -> impl Iterator<Item = Subject> {
    let sizes = sizes(mode, subject.side.language).iter();
    sizes.map(|size| Subject {
        pool_size: *size,
        key_end: pool_end(*size),
        detail: format!(" with a pool of {size}"),
        ..subject.clone()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use workshop_measure::protocol::plan::CONNECTIONS;

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
