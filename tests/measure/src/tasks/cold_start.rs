//! The cold start (exercise 2): from spawn to the first 200 of `/ready`, timed by hyperfine.
//!
//! hyperfine times a helper, `workshop cold-start`, that spawns the service and returns with its first 200. What the
//! helper itself takes is measured too: as the start of a service that does nothing.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;

use crate::tools::hyperfine::Hyperfine;

use crate::protocol::block;
use crate::protocol::gates;
use crate::protocol::lab;
use crate::protocol::lab::Lab;
use crate::protocol::machine;
use crate::protocol::plan;
use crate::protocol::progress::Progress;
use crate::protocol::subject::Subject;
use crate::tasks::load::Wanted;
use crate::tasks::load::notes_on;
use crate::tasks::start_helper::Order;
use crate::tasks::start_helper::Seen;
use crate::tools::hyperfine::Timing;
use workshop_base::outcome::Trouble;
use workshop_base::terminal::Style;
use workshop_base::terminal::paint;
use workshop_harness::build::Launch;
use workshop_results::figures::figure;
use workshop_results::file::BlockRecord;
use workshop_results::file::Mode;
use workshop_results::file::ResultFile;
use workshop_results::file::SCHEMA;
use workshop_results::metrics;
use workshop_results::statistics;

/// The path that is asked for: a service that answers it has reached the database.
const PATH: &str = "/ready";
/// What one cold start of both sides takes, roughly: a JVM's, and the time to stop it.
const A_ROUND: Duration = Duration::from_millis(2500);

/// How many rounds a mode has.
fn rounds(mode: Mode) -> usize {
    match mode {
        Mode::Quick => 6,
        Mode::Standard => 15,
        Mode::Thorough => 40,
    }
}

/// Something that is started over and over.
struct Starter {
    id: String,
    timing: Timing,
    order: Order,
}

impl Starter {
    fn new(id: &str, launch: Launch, helper: &Path, lab: &Lab<'_>) -> anyhow::Result<Self> {
        let file = lab.scratch().join(format!("{id}.json"));
        let order = Order {
            launch,
            settings: block::settings(&lab.database_url),
            path: PATH.to_owned(),
            seen: lab.scratch().join(format!("{id}.seen.json")),
            log: lab.scratch().join(format!("{id}.log")),
        };
        order.write(&file)?;
        let words = |stop: bool| {
            let mut words = vec![helper.display().to_string(), "cold-start".to_owned()];
            words.extend(stop.then(|| "--stop".to_owned()));
            words.push(file.display().to_string());
            words
        };
        Ok(Starter {
            id: id.to_owned(),
            timing: Timing {
                command: words(false),
                conclude: words(true),
            },
            order,
        })
    }

    /// One start, timed; what the helper saw comes along.
    async fn once(
        &self,
        hyperfine: &Hyperfine,
        scratch: &Path,
    ) -> anyhow::Result<(Duration, Seen)> {
        let time = hyperfine.once(&self.timing, scratch).await;
        let seen = Seen::read(&self.order.seen);
        match (time, seen) {
            (Ok(time), Ok(seen)) => Ok((time, seen)),
            (Ok(_), Err(error)) => Err(error),
            (
                Err(error),
                Ok(Seen {
                    trouble: Some(trouble),
                    ..
                }),
            ) => Err(error.context(trouble)),
            (Err(error), _) => Err(error),
        }
    }
}

/// Measures the cold start of the subjects, the Kotlin service first.
///
/// # Errors
/// When a service does not get ready, or a tool is missing.
pub async fn measure(
    lab: &Lab<'_>,
    subjects: &[Subject],
    wanted: &Wanted,
) -> anyhow::Result<ResultFile> {
    let hyperfine = Hyperfine::find(lab.workspace)?;
    let helper = helper(lab.scratch())?;
    let rounds = rounds(wanted.mode);
    let starters = subjects
        .iter()
        .map(|subject| Starter::new(subject.id(), subject.launch.clone(), &helper, lab))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let floor = Starter::new(
        "nothing",
        nothing(&helper, &starters, subjects)?,
        &helper,
        lab,
    )?;
    let names: Vec<&str> = subjects.iter().map(Subject::id).collect();
    println!(
        "timing {} cold starts each of {}",
        rounds,
        paint(Style::Strong, names.join(" and "))
    );
    for starter in &starters {
        println!("the raw command:  {}", starter.timing.typed());
    }

    let progress = Progress::begin(A_ROUND * (rounds as u32 + 2));
    progress.part("the same answers?");
    let of: Vec<&Subject> = subjects.iter().collect();
    gates::same_probes(lab.workspace, &of, &lab.database_url)
        .await?
        .map_err(|reason| {
            Trouble::new(format!("invalid: {reason}"))
                .expected("services that answer /health and /ready alike")
                .next(format!(
                    "just check {}",
                    subjects.last().map_or("kotlin", Subject::id)
                ))
                .failed()
        })?;
    progress.part("one start of each, not counted: the files come into the cache");
    for starter in starters.iter().chain([&floor]) {
        starter.once(&hyperfine, lab.scratch()).await?;
    }

    let mut records = Vec::new();
    let mut floors = Vec::new();
    for round in 1..=rounds {
        progress.expect(progress.gone() / round as u32 * (rounds - round + 1) as u32);
        progress.part(&format!("round {round} of {rounds}"));
        for side in plan::shuffled(starters.len()) {
            let (time, seen) = starters[side].once(&hyperfine, lab.scratch()).await?;
            records.push(record(
                round,
                records.len() + 1,
                &starters[side].id,
                time,
                &seen,
                &subjects[side],
            ));
        }
        floors.push(floor.once(&hyperfine, lab.scratch()).await?.0.as_secs_f64() * 1e3);
    }
    let gone = progress.gone();
    drop(progress);
    let notes = notes(subjects, wanted.mode, &floors);
    Ok(result(lab, subjects, wanted, records, notes, gone))
}

/// The tool itself under a name that stays, even when the tool is built again meanwhile.
fn helper(scratch: &Path) -> anyhow::Result<PathBuf> {
    let tool = std::env::current_exe().context("the tool does not know where it is")?;
    let kept = scratch.join("workshop");
    Ok(match std::fs::hard_link(&tool, &kept) {
        Ok(()) => kept,
        // Another file system: then the tool as it is has to do.
        Err(_) => tool,
    })
}

/// A service that does nothing but answer: the floor of every measured start.
fn nothing(helper: &Path, starters: &[Starter], subjects: &[Subject]) -> anyhow::Result<Launch> {
    let (starter, subject) = starters
        .iter()
        .zip(subjects)
        .next_back()
        .context("there is nothing to measure")?;
    let file = starter.timing.command.last().cloned().unwrap_or_default();
    Ok(Launch {
        program: helper.to_path_buf(),
        args: vec!["cold-start".into(), "--answer".into(), file.into()],
        label: "nothing".to_owned(),
        ..subject.launch.clone()
    })
}

fn record(
    round: usize,
    place: usize,
    side: &str,
    time: Duration,
    seen: &Seen,
    subject: &Subject,
) -> BlockRecord {
    let mut values = std::collections::BTreeMap::from([
        ("start_up".to_owned(), time.as_secs_f64() * 1e3),
        ("size".to_owned(), subject.size as f64 / 1e6),
    ]);
    let optional = [
        ("start_up_inside", seen.ready_ms),
        ("start_up_cpu", seen.cpu_ms),
        (
            "memory",
            seen.peak_kb
                .map(|kilobytes| kilobytes as f64 * 1024.0 / 1e6),
        ),
        ("threads", seen.threads.map(|threads| threads as f64)),
    ];
    values.extend(
        optional
            .into_iter()
            .filter_map(|(key, value)| Some((key.to_owned(), value?))),
    );
    BlockRecord {
        round,
        place,
        side: side.to_owned(),
        values,
        invalid: [].into(),
    }
}

fn notes(subjects: &[Subject], mode: Mode, floors: &[f64]) -> Vec<String> {
    let mut notes = Vec::new();
    if mode == Mode::Quick {
        notes.push("a quick run is for orientation: few starts, a wide interval, predictions are not judged".to_owned());
    }
    if let Some(floor) = statistics::median(floors) {
        notes.push(format!(
            "the helper with a service that does nothing takes {} ms (median): that much of every start-up is not the service's",
            figure(floor)
        ));
    }
    notes.push("files are in the page cache: the first start after a boot takes longer".to_owned());
    notes.extend(notes_on(subjects));
    notes.extend(machine::warning(&machine::look()));
    if !workshop_base::process::available() {
        notes.push(workshop_base::process::NO_PROC.to_owned());
    }
    notes
}

fn result(
    lab: &Lab<'_>,
    subjects: &[Subject],
    wanted: &Wanted,
    records: Vec<BlockRecord>,
    notes: Vec<String>,
    gone: Duration,
) -> ResultFile {
    let sides: Vec<String> = subjects
        .iter()
        .map(|subject| subject.id().to_owned())
        .collect();
    let pairs: Vec<(String, String)> = sides
        .iter()
        .skip(1)
        .filter_map(|side| Some((side.clone(), sides.first()?.clone())))
        .collect();
    let mut manifest = lab.manifest(subjects);
    lab::complete(&mut manifest, &records, gone);
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
        metrics: metrics::from_blocks(
            &metrics::of_cold_start(),
            &records,
            &sides,
            &pairs,
            rounds(wanted.mode).min(5),
        ),
        predictions: Vec::new(),
        notes,
        invalid: Vec::new(),
        blocks: records,
        tables: Vec::new(),
        charts: Vec::new(),
    }
}
