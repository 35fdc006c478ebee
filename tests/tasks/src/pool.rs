//! The pool (exercise 6): the same reads at saturation with pools of several sizes, and where more connections stop to help;
//! then the hidden ping, a round trip that the pool makes before it lends a connection, as a knob.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Context;
use serde::Deserialize;

use crate::tables::pool;
use workshop_base::process;
use workshop_base::target::Language;
use workshop_measure::protocol::lab::Lab;
use workshop_measure::protocol::load::{Reading, Step};
use workshop_measure::protocol::metrics;
use workshop_measure::protocol::plan::{self, POOL_SIZE};
use workshop_measure::protocol::rows::Asked;
use workshop_measure::protocol::session::Session;
use workshop_measure::protocol::subject::{Subject, ids, pairs};
use workshop_measure::tools::database::Watch;
use workshop_measure::tools::oha::Load;
use workshop_results::file::ResultFile;
use workshop_results::key::{At, CONNECTIONS, Key, P99, P99_SATURATED, THROUGHPUT};

/// The plan and the rows of the knob.
const KNOB: &str = "ping";

/// The sizes of the pools, and those of them that a JVM gets.
#[derive(Deserialize)]
struct Sizes {
    all: Vec<u16>,
    jvm: Vec<u16>,
}

/// Measures a target and Kotlin with pools of several sizes, and the reference with and without the ping.
pub async fn measure(lab: &Lab<'_>, asked: &Asked) -> anyhow::Result<ResultFile> {
    let sizes: Sizes = plan::extent("pool", asked.mode)?;
    let every_size = &sizes.all;
    let of_knob = Asked {
        task: KNOB.to_owned(),
        ..asked.clone()
    };
    let knob = lab.subjects(&of_knob).await?.subjects;
    let (mut session, mut subjects) = Session::begin(lab, asked, &asked.task).await?;
    let sides = subjects.len();
    subjects.extend(knob);
    let path = session.records();
    session.show_load(&path);
    let subjects = session.same_work(subjects).await?;
    let (sweep, knob) = subjects.split_at(sides);

    let maintenance = lab.server.connect_for_maintenance().await?;
    session.activity = Some(Watch::of(maintenance, &lab.database_url)?);
    let length = Duration::from_secs_f64(session.plan.saturation);
    let closed = |readings: &[(Reading, Key)]| Step {
        path: path.clone(),
        load: Load::Closed,
        length,
        readings: readings.to_vec(),
    };
    let of_pools = closed(&[
        (Reading::Rate, THROUGHPUT),
        (Reading::Percentile("p99"), P99),
        (Reading::Connections, CONNECTIONS),
    ]);
    let pools = sweep.iter().flat_map(|side| with_pools(side, &sizes));
    let pools: Vec<Subject> = pools.collect();
    let rounds = session.rounds(&pools, &[of_pools]).await?;
    let every_pool = every_size.iter().map(|size| At::Pool(*size));
    let largest = every_pool
        .clone()
        .next_back()
        .context("no pool to measure")?;
    let defined = metrics::of("pool", every_pool)?;
    let of_pools = session
        .judged(&defined, sweep, rounds, None)
        .decided_by(&THROUGHPUT.at(largest), sweep);

    session.plan = asked.plan(KNOB)?;
    let of_knob = closed(&[
        (Reading::Rate, THROUGHPUT),
        (Reading::Percentile("p99"), P99_SATURATED),
    ]);
    let rounds = session.rounds(knob, &[of_knob]).await?;
    let duets = session.duets(knob, &pairs(knob), &path).await?;
    let of_knob = session
        .judged(&metrics::closed("knob")?, knob, rounds, Some(duets))
        .decided_by(&THROUGHPUT, knob);

    session.notes.push(format!(
        "the knob is the reference with and without `test_before_acquire`, both with a pool of {POOL_SIZE}"
    ));
    session.notes.push(format!(
        "once the {} cores are busy, a further connection adds a process of PostgreSQL that waits for a core",
        process::cores()
    ));
    let mut database = BTreeMap::new();
    for size in every_size {
        let alone = session.database_alone(*size).await;
        database.extend(alone.map(|rate| (*size, rate)));
    }
    let mut result = session.finish(&subjects, of_pools.and(of_knob)).await?;
    let (table, chart) = pool::drawn(&result, &ids(sweep), every_size, &database);
    result.tables.push(table);
    result.charts.push(chart);
    Ok(result)
}

/// A subject with each size that its language gets.
fn with_pools(subject: &Subject, sizes: &Sizes) -> impl Iterator<Item = Subject> {
    let sizes = match subject.side.language {
        Language::Kotlin => &sizes.jvm,
        _ => &sizes.all,
    };
    sizes.iter().map(|size| Subject {
        pool_size: *size,
        at: Some(At::Pool(*size)),
        detail: format!(" with a pool of {size}"),
        ..subject.clone()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use workshop_measure::protocol::plan;
    use workshop_results::file::Mode;

    #[test]
    fn every_mode_ends_with_a_pool_in_which_no_request_waits() {
        for mode in [Mode::Quick, Mode::Standard, Mode::Thorough] {
            let Sizes { all, jvm } = plan::extent("pool", mode).unwrap();
            for sizes in [all, jvm] {
                assert!(sizes.is_sorted());
                assert_eq!(
                    sizes.last().map(|size| u32::from(*size)),
                    Some(plan::CONNECTIONS)
                );
            }
        }
    }
}
