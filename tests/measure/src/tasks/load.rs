//! The measurements by load: random reads on both sides (exercise 3), and on the Kotlin service alone (exercise 1).

use std::time::Duration;

use crate::protocol::block::Reads;
use crate::protocol::gates;
use crate::protocol::gates::SameWork;
use crate::protocol::ids;
use crate::protocol::lab;
use crate::protocol::lab::Lab;
use crate::protocol::machine;
use crate::protocol::plan::CONNECTIONS;
use crate::protocol::plan::HEADLINE_RATE;
use crate::protocol::plan::POOL_SIZE;
use crate::protocol::plan::Plan;
use crate::protocol::progress;
use crate::protocol::progress::Progress;
use crate::protocol::session::Blocks;
use crate::protocol::session::Session;
use crate::protocol::session::sides_of;
use crate::protocol::subject::Subject;
use crate::tools::database::CEILING_SHARE;
use crate::tools::oha::Load;
use crate::tools::oha::Oha;
use crate::tools::oha::Order;
use workshop_base::outcome::Trouble;
use workshop_base::process;
use workshop_base::target::Language;
use workshop_base::terminal::Style;
use workshop_base::terminal::paint;
use workshop_results::file::Metric;
use workshop_results::file::Mode;
use workshop_results::file::ResultFile;
use workshop_results::file::SCHEMA;
use workshop_results::manifest::Manifest;
use workshop_results::metrics;

/// What is asked for.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// Which measurement.
    pub task: String,
    /// The exercise it belongs to.
    pub exercise: u8,
    /// The target that was typed.
    pub target: String,
    /// How much.
    pub mode: Mode,
}

/// Measures the subjects, the oracle first; with one subject there is nothing to compare.
///
/// # Errors
/// When the subjects do not do the same work (the outcome is *failed*, and says where they differ), a service does not
/// start, or a tool is missing.
pub async fn measure(
    lab: &Lab<'_>,
    subjects: &[Subject],
    wanted: &Wanted,
    plan: Plan,
) -> anyhow::Result<ResultFile> {
    let oha = Oha::find(lab.workspace)?;
    announce(subjects, plan.rounds, plan.expected(sides_of(subjects)));
    show_load(lab, &plan);
    let progress = Progress::begin(plan.expected(sides_of(subjects)));
    progress.part("the same work? 200 records, failures, round trips");
    let same = same_work(lab, subjects, wanted.exercise).await?;

    let mut session = Session::new(lab, &oha, plan, progress);
    session.statements = lab.statements().await;
    let rates = session.shared_rates(subjects, &Reads(&[])).await?;
    let blocks = session.rounds(subjects, &mut Reads(&rates)).await?;
    let mut notes = standing_notes(subjects, wanted.mode, &same);
    let ceiling = measure_ceiling(lab, &session, &mut notes).await;
    if session.statements.is_none() {
        notes.push(
            "the database's own time is unknown: this server has no pg_stat_statements".to_owned(),
        );
    }
    if let Some(statements) = session.statements.take() {
        statements.close().await;
    }

    let mut manifest = lab.manifest(subjects);
    manifest.connections = CONNECTIONS;
    manifest.round_trips = same.round_trips;
    manifest.rates = rates
        .iter()
        .map(|(percent, rate)| (percent.to_string(), *rate))
        .collect();
    lab::complete(&mut manifest, &blocks.records, session.progress.gone());
    let mut result = result(
        subjects,
        &against_the_first(subjects),
        wanted,
        &session.plan,
        manifest,
        blocks,
        notes,
    );
    if let Some(ceiling) = ceiling {
        result.notes.extend(against_the_ceiling(&result, ceiling));
    }
    Ok(result)
}

/// Says what is about to happen.
pub(crate) fn announce(subjects: &[Subject], rounds: usize, expected: Duration) {
    let names: Vec<&str> = subjects.iter().map(Subject::id).collect();
    println!(
        "measuring {} in {rounds} rounds of fresh processes, about {}",
        paint(Style::Strong, names.join(" and ")),
        progress::in_words(expected)
    );
}

/// Shows the raw command of the load.
pub(crate) fn show_load(lab: &Lab<'_>, plan: &Plan) {
    let order = Order {
        url: format!(
            "http://127.0.0.1:PORT/read/{}",
            ids::of(lab.seeded.set).pattern
        ),
        key: "valid_key".to_owned(),
        connections: CONNECTIONS,
        duration: plan.saturation,
        load: Load::Closed,
    };
    println!("the load:  {}", order.typed());
    if !plan.rates.is_empty() {
        println!("           and at shared rates, with -q RATE --latency-correction");
    }
}

/// The same-work gate, its failure as an error for people.
pub(crate) async fn same_work(
    lab: &Lab<'_>,
    subjects: &[Subject],
    exercise: u8,
) -> anyhow::Result<SameWork> {
    let of = subjects.iter().collect::<Vec<_>>();
    let verdict = gates::same_work(
        lab.workspace,
        &of,
        &lab.database_url,
        lab.seeded.set,
        exercise,
    )
    .await?;
    verdict.map_err(|reason| {
        let suspect = subjects.last().map_or("kotlin", Subject::id);
        Trouble::new(format!("invalid: {reason}"))
            .expected("services that do the same work; a comparison of anything else says nothing")
            .next(format!("just check {suspect}"))
            .failed()
            .into()
    })
}

async fn measure_ceiling(
    lab: &Lab<'_>,
    session: &Session<'_>,
    notes: &mut Vec<String>,
) -> Option<f64> {
    if session.plan.database.is_zero() {
        return None;
    }
    session.progress.part("the database alone, by pgbench");
    match lab.ceiling(POOL_SIZE, session.plan.database).await {
        None => {
            notes.push(
                "the database's ceiling is unknown: there is no pgbench on this machine".to_owned(),
            );
            None
        }
        Some(Ok(rate)) => Some(rate),
        Some(Err(error)) => {
            notes.push(format!("the database's ceiling is unknown: {error}"));
            None
        }
    }
}

fn against_the_ceiling(result: &ResultFile, ceiling: f64) -> Vec<String> {
    let mut notes = vec![format!(
        "pgbench alone reads {} records/s over {POOL_SIZE} connections: the ceiling of any service here",
        workshop_results::figures::figure(ceiling)
    )];
    let Some(throughput) = result.metric("throughput") else {
        return notes;
    };
    for value in &throughput.values {
        let share = value.value / ceiling;
        if share > CEILING_SHARE {
            notes.push(format!(
                "{} reaches {:.0} % of that ceiling: its throughput measures PostgreSQL rather than the service",
                value.side,
                share * 100.0
            ));
        }
    }
    notes
}

pub(crate) fn standing_notes(subjects: &[Subject], mode: Mode, same: &SameWork) -> Vec<String> {
    let mut notes = Vec::new();
    if mode == Mode::Quick {
        notes.push("a quick run is for orientation: few short blocks, wide intervals, predictions are not judged".to_owned());
    }
    notes.extend(same.declared.iter().cloned());
    notes.extend(notes_on(subjects));
    notes.push(format!(
        "load generator, services and PostgreSQL share the machine's {} cores",
        process::cores()
    ));
    if !process::available() {
        notes.push(process::NO_PROC.to_owned());
    }
    notes.extend(machine::warning(&machine::look()));
    notes
}

/// What is true of these subjects in every measurement.
pub(crate) fn notes_on(subjects: &[Subject]) -> Vec<String> {
    let kotlin = subjects
        .iter()
        .find(|subject| subject.side.language == Language::Kotlin);
    kotlin.map_or_else(Vec::new, |kotlin| {
        vec![
            format!(
                "Kotlin runs as shipped, by `{}` on {}: with the JVM's default heap its memory is what its policy takes, not what it needs; exercise 8 tunes it",
                kotlin.side.command, kotlin.side.runtime
            ),
            "the size of Kotlin is its jar's; the JVM comes on top".to_owned(),
        ]
    })
}

/// Every subject held against the first one.
pub(crate) fn against_the_first(subjects: &[Subject]) -> Vec<(String, String)> {
    let mut sides = subjects.iter().map(|subject| subject.id().to_owned());
    let first = sides.next().unwrap_or_default();
    sides.map(|side| (side, first.clone())).collect()
}

/// Turns blocks into a result; `pairs` names the comparisons, the side above the fraction bar first. A metric is invalid by its own reason; the whole is when no comparison of throughput is left.
pub(crate) fn result(
    subjects: &[Subject],
    pairs: &[(String, String)],
    wanted: &Wanted,
    plan: &Plan,
    manifest: Manifest,
    blocks: Blocks,
    notes: Vec<String>,
) -> ResultFile {
    let sides: Vec<String> = subjects
        .iter()
        .map(|subject| subject.id().to_owned())
        .collect();
    let definitions = metrics::of_load(&plan.rates, HEADLINE_RATE, CONNECTIONS);
    let metrics = metrics::from_blocks(
        &definitions,
        &blocks.records,
        &sides,
        pairs,
        plan.rounds_needed(),
    );
    let invalid = invalid(&metrics, "throughput", &sides);
    let result = assembled(subjects, wanted, manifest, metrics, blocks, notes);
    ResultFile { invalid, ..result }
}

/// A result with these metrics, of which nothing is invalid as a whole.
pub(crate) fn assembled(
    subjects: &[Subject],
    wanted: &Wanted,
    manifest: Manifest,
    metrics: Vec<Metric>,
    blocks: Blocks,
    mut notes: Vec<String>,
) -> ResultFile {
    notes.extend(blocks.notes);
    ResultFile {
        schema: SCHEMA,
        task: wanted.task.clone(),
        exercise: format!("exercise-{}", wanted.exercise),
        target: wanted.target.clone(),
        mode: wanted.mode,
        taken_at: lab::now(),
        machine: machine::label(&manifest.machine),
        manifest,
        sides: subjects
            .iter()
            .map(|subject| subject.side.clone())
            .collect(),
        invalid: Vec::new(),
        metrics,
        predictions: Vec::new(),
        notes,
        blocks: blocks.records,
        tables: Vec::new(),
        charts: Vec::new(),
    }
}

/// Why the whole is invalid: the metric that everything else hangs on has no value for a side, or cannot be compared.
pub(crate) fn invalid(metrics: &[Metric], key: &str, sides: &[String]) -> Vec<String> {
    let decides = metrics.iter().find(|metric| metric.key == key);
    let missing = sides
        .iter()
        .filter(|side| decides.is_none_or(|metric| metric.value(side).is_none()));
    let mut reasons: Vec<String> = missing
        .map(|side| format!("no block of {side} passed the gates"))
        .collect();
    if let Some(metric) = decides {
        reasons.extend(
            metric
                .comparisons
                .iter()
                .filter_map(|comparison| comparison.reason.clone()),
        );
    }
    reasons
}
