//! The pool (exercise 6): the same reads at saturation with pools of several sizes, and where more connections stop to help;
//! then the hidden ping, a round trip that the pool makes before it lends a connection, as a knob.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::protocol::block;

use crate::protocol::block::Loads;

use crate::protocol::block::Observed;
use crate::protocol::lab;
use crate::protocol::lab::Lab;
use crate::protocol::plan::CONNECTIONS;
use crate::protocol::plan::POOL_SIZE;
use crate::protocol::plan::Plan;
use crate::protocol::progress::Progress;
use crate::protocol::session::Session;
use crate::protocol::session::sides_of;
use crate::protocol::subject::Subject;
use crate::tables::pool::{self, Knee, PoolSweep};
use crate::tasks::load;
use crate::tasks::load::Wanted;
use crate::tools::database::Activity;
use crate::tools::oha::Load;
use crate::tools::oha::Oha;
use workshop_base::process;
use workshop_base::target::Language;
use workshop_base::target::Target;
use workshop_harness::service::Service;
use workshop_results::file::Metric;
use workshop_results::file::Mode;
use workshop_results::file::ResultFile;
use workshop_results::metrics;
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
/// What the same-work gate and pgbench take.
const AROUND: Duration = Duration::from_secs(20);

/// The sizes of the pools; the last is as large as the load's connections, so no request waits for one. A JVM gets fewer of
/// them outside the thorough mode: each size needs one of its own, and a JVM that still compiles would say nothing.
fn sizes(mode: Mode, language: Language) -> &'static [u16] {
    match (mode, language) {
        (Mode::Quick, _) | (Mode::Standard, Language::Kotlin) => &[2, 8, 32],
        (Mode::Standard, Language::Rust) | (Mode::Thorough, _) => &[2, 4, 8, 16, 32],
    }
}

/// Measures a target and Kotlin with pools of several sizes, and the reference with and without the ping.
///
/// # Errors
/// When the services do not do the same work (the outcome is *failed*, and says where they differ), one does not build or
/// start, or a tool is missing.
pub async fn measure(lab: &Lab<'_>, target: Target, wanted: &Wanted) -> anyhow::Result<ResultFile> {
    let oha = Oha::find(lab.workspace)?;
    let every_size = sizes(wanted.mode, Language::Rust);
    let sweep = [
        lab.subject(Target::Kotlin).await?,
        lab.subject(target).await?.labelled("Rust"),
    ];
    let reference = Target::Solution(wanted.exercise);
    let pinging = if target == reference {
        sweep[1].clone()
    } else {
        lab.subject(reference).await?
    };
    let silent = lab.variant(wanted.exercise, NO_PING, NO_PING)?;
    let knob = [
        pinging.renamed(WITH_PING, "with ping"),
        silent.renamed(WITHOUT_PING, "no ping"),
    ];
    let pools = with_pools(&sweep, wanted.mode);
    let (plan, knob_plan) = (Plan::pools(wanted.mode), Plan::ping(wanted.mode));

    let expected = plan.expected(sides_of(&pools)) + knob_plan.expected(sides_of(&knob)) + AROUND;
    load::announce(&sweep, plan.rounds, expected);
    load::show_load(lab, &plan);
    let sizes_in_words = every_size.iter().map(u16::to_string).collect::<Vec<_>>();
    println!(
        "           with pools of {} connections; then the reference with and without the ping, in {} rounds",
        sizes_in_words.join(", "),
        knob_plan.rounds
    );
    let progress = Progress::begin(expected);
    progress.part("the same work? 200 records, failures, round trips");
    let same = load::same_work(lab, &sweep, wanted.exercise)
        .await?
        .and(load::same_work(lab, &knob, wanted.exercise).await?);

    let maintenance = lab.server.connect_for_maintenance().await?;
    let mut loads = Saturated {
        end: |subject| pool_end(subject.pool_size),
        activity: Activity::of(maintenance, &lab.database_url)?,
    };
    let mut session = Session::new(lab, &oha, plan, progress);
    let mut blocks = session.rounds(&pools, &mut loads).await?;
    let mut metrics = metrics::from_blocks(
        &metrics::of_pools(every_size, CONNECTIONS),
        &blocks.records,
        &ids(&sweep),
        &load::against_the_first(&sweep),
        session.plan.rounds_needed(),
    );

    session.plan = knob_plan;
    loads.end = |_| String::new();
    let of_knob = session.rounds(&knob, &mut loads).await?;
    loads.activity.close().await;
    metrics.extend(metrics::from_blocks(
        &metrics::of_knob(CONNECTIONS),
        &of_knob.records,
        &ids(&knob),
        &[(WITHOUT_PING.to_owned(), WITH_PING.to_owned())],
        session.plan.rounds_needed(),
    ));
    blocks.notes.extend(of_knob.notes);
    blocks.records.extend(of_knob.records);

    let mut notes = load::standing_notes(&sweep, wanted.mode, &same);
    notes.push(format!(
        "the knob is the reference with and without `test_before_acquire`, both with a pool of {POOL_SIZE}"
    ));
    notes.push(format!(
        "once the {} cores are busy, a further connection adds a process of PostgreSQL that waits for a core",
        process::cores()
    ));
    let database = database(lab, &session, every_size, &mut notes).await;
    let all: Vec<Subject> = sweep.iter().chain(&knob).cloned().collect();
    let mut manifest = lab.manifest(&all);
    manifest.connections = CONNECTIONS;
    manifest.round_trips = same.round_trips;
    lab::complete(&mut manifest, &blocks.records, session.progress.gone());
    let of_database: Vec<(u16, f64)> = database.iter().map(|(size, rate)| (*size, *rate)).collect();
    let knees: Vec<Knee> = ids(&sweep)
        .iter()
        .filter_map(|side| knee(side, &throughputs(&metrics, side, every_size)))
        .chain(knee(DATABASE, &of_database))
        .collect();
    let largest = every_size.last().copied().unwrap_or(POOL_SIZE);
    let mut invalid = load::invalid(
        &metrics,
        &format!("throughput{}", pool_end(largest)),
        &ids(&sweep),
    );
    invalid.extend(load::invalid(&metrics, "throughput", &ids(&knob)));
    let result = load::assembled(&all, wanted, manifest, metrics, blocks, notes);
    let sweep = PoolSweep {
        sizes: every_size.to_vec(),
        enough: ENOUGH,
        knees,
        database,
    };
    Ok(ResultFile {
        invalid,
        tables: vec![pool::pools(&result, &sweep)],
        charts: vec![pool::throughput(&result, &sweep)],
        ..result
    })
}

fn ids(subjects: &[Subject]) -> Vec<String> {
    subjects
        .iter()
        .map(|subject| subject.id().to_owned())
        .collect()
}

/// Each subject with each size that its language gets.
fn with_pools(subjects: &[Subject], mode: Mode) -> Vec<Subject> {
    let with = |subject: &Subject, pool_size| Subject {
        pool_size,
        ..subject.clone()
    };
    subjects
        .iter()
        .flat_map(|subject| {
            sizes(mode, subject.side.language)
                .iter()
                .map(move |size| with(subject, *size))
        })
        .collect()
}

/// The closed loop, under keys with this end.
struct Saturated {
    end: fn(&Subject) -> String,
    activity: Activity,
}

impl Loads for Saturated {
    fn keys(&self, subject: &Subject) -> Vec<String> {
        let end = (self.end)(subject);
        let p99 = if end.is_empty() {
            "p99_saturated"
        } else {
            "p99"
        };
        ["throughput", p99, "cpu_per_request", "connections"]
            .map(|key| format!("{key}{end}"))
            .into()
    }

    async fn put_on(
        &mut self,
        session: &mut Session<'_>,
        subject: &Subject,
        service: &Service,
        observed: &mut Observed,
        title: &str,
    ) -> anyhow::Result<()> {
        session.progress.phase(&format!(
            "{title}: closed loop, a pool of {}",
            subject.pool_size
        ));
        let order = block::order(session, service, session.plan.saturation, Load::Closed);
        let (run, cpu, _) = block::watched(session, &order, &service.pids()).await?;
        let opened = self.activity.connections().await;
        observed.value(block::GENERATOR_SHARE, run.generator_share);
        let keys = self.keys(subject);
        if let Err(reason) = run.gate(&order) {
            observed.invalid(&keys, &reason);
            return Ok(());
        }
        let values = [
            Some(run.rate),
            run.p99_ms,
            block::per_request_us(cpu, &run),
            opened.map(|opened| opened as f64),
        ];
        for (key, value) in keys.into_iter().zip(values) {
            observed.value(key, value);
        }
        Ok(())
    }
}

/// What the database alone does with as many clients as each pool has connections.
async fn database(
    lab: &Lab<'_>,
    session: &Session<'_>,
    sizes: &[u16],
    notes: &mut Vec<String>,
) -> BTreeMap<u16, f64> {
    let mut rates = BTreeMap::new();
    for size in sizes {
        session.progress.part(&format!(
            "the database alone, by pgbench with {size} clients"
        ));
        match lab.ceiling(*size, session.plan.saturation).await {
            Some(Ok(rate)) => {
                rates.insert(*size, rate);
            }
            Some(Err(error)) => {
                notes.push(format!("the database alone is unknown: {error}"));
                break;
            }
            None => {
                notes.push(
                    "the database alone is unknown: there is no pgbench on this machine".to_owned(),
                );
                break;
            }
        }
    }
    rates
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
