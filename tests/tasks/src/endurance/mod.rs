//! An endurance run: millions of random reads in chunks, in a closed loop, each service on one process for all of them. Does its
//! memory stay flat, do its descriptors, its threads and its latency, and is every answer a 200?
//!
//! Chunks take turns: one of each service, in random order, then the next of each. What slowly changes in the machine meets all of
//! them alike, and a run that is stopped has come equally far with each. The others wait meanwhile, and an idle service takes no CPU.
//!
//! The [`checkpoint`] keeps each chunk as it ends. A run that was stopped carries on from there, by new processes: the old ones are gone.
//! So a run has *segments*, one per process and service. The slope of the memory is that within segments
//! ([`workshop_results::growth`]); the way from the end of one to the beginning of the next is no growth and no shrinking.
//!
//! A JVM is given its whole heap at the start, since how much of a larger one holds objects is policy. What leaks beside the heap then
//! shows in the slope. What leaks into it ends in an `OutOfMemoryError`, and with it in an answer that isn't a 200.

pub mod checkpoint;
pub mod chunk;

use std::path::PathBuf;
use std::time::Duration;

use workshop_base::exercise::Catalogue;
use workshop_base::outcome::Interrupted;
use workshop_base::target::{Language, Target};
use workshop_base::terminal::{Style, paint};
use workshop_base::workspace::Workspace;
use workshop_harness::build::sources::fingerprint;
use workshop_harness::build::{Launch, Profile};
use workshop_postgres::datasets::DataSet;
use workshop_results::figures::{THIN, count};
use workshop_results::file::{Mode, ResultFile};
use workshop_results::manifest::Manifest;

use crate::endurance::checkpoint::{Checkpoint, Conditions, Failed};
use crate::endurance::chunk::{ERRORS, REQUESTS, Running};
use crate::tables;
use workshop_measure::protocol::block;
use workshop_measure::protocol::builder;
use workshop_measure::protocol::experiment::{Asked, Experiment, ids, notes_on_blocks};
use workshop_measure::protocol::lab::{self, Lab};
use workshop_measure::protocol::machine;
use workshop_measure::protocol::metrics;
use workshop_measure::protocol::neighbors::CpuTimes;
use workshop_measure::protocol::plan::{Chunks, Plan, shuffled};
use workshop_measure::protocol::subject::{self, Subject};
use workshop_measure::tools;
use workshop_measure::tools::oha::Load;

/// The name of the measurement and of its files.
pub use workshop_results::file::ENDURANCE as NAME;
/// The exercise that it belongs to.
const EXERCISE: u8 = 17;
/// What a port must answer with 200 before it is worth a release build.
const FIRST: &str = "/read/1";

/// What is asked for.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// Who is measured.
    pub targets: Vec<Target>,
    /// The requests that each of them gets, in all.
    pub requests: u64,
    /// Begin another run, whatever the checkpoint has.
    pub anew: bool,
    /// The data set to read from; none for the usual one.
    pub data_set: Option<DataSet>,
}

/// How far a run goes, and where its checkpoint is.
#[derive(Debug, Clone)]
pub struct Extent {
    /// The requests that each service gets, in all.
    pub requests: u64,
    /// How they are cut.
    pub chunks: Chunks,
    /// The checkpoint's file.
    pub checkpoint: PathBuf,
    /// Begin another run, whatever the checkpoint has.
    pub anew: bool,
}

/// A run that came to its end, or was stopped.
#[derive(Debug)]
pub struct Ended {
    /// What is known so far.
    pub result: ResultFile,
    /// Where it was stopped: the requests that are kept, of those that were asked for.
    pub stopped_at: Option<(u64, u64)>,
}

/// Carries on with the run of this checkout, or begins one, until it is done or `stop` says so. Whatever way it ends, what was measured is
/// in the checkpoint. Conditions that differ from those of the run, a service that does not start, and a missing tool are errors; a service
/// that fails under load makes the result invalid.
pub async fn measure(
    workspace: &Workspace,
    wanted: &Wanted,
    stop: impl Future<Output = ()>,
) -> anyhow::Result<Ended> {
    tokio::pin!(stop);
    let chunks = Chunks::of_the_course()?;
    let (lab, subjects) = tokio::select! {
        prepared = prepared(workspace, wanted, &chunks.jvm) => prepared?,
        () = &mut stop => {
            let nothing = "interrupted before the first chunk; what was started is stopped";
            return Err(Interrupted::new(nothing).into());
        }
    };
    let asked = asked(&subjects);
    let extent = Extent {
        requests: wanted.requests,
        chunks,
        checkpoint: workspace.results().join(format!("{NAME}.checkpoint")),
        anew: wanted.anew,
    };
    let mut run = Endurance::begin(&lab, &asked, subjects, extent)?;
    let stopped = tokio::select! {
        gone = run.go_on() => gone.map(|()| false)?,
        () = &mut stop => true,
    };
    let stopped_at = stopped.then(|| run.answered());
    Ok(Ended {
        result: run.finish().await?,
        stopped_at,
    })
}

/// Opens the lab, and builds the targets as they would be shipped. The tools are looked for first: data are seeded for minutes.
async fn prepared<'w>(
    workspace: &'w Workspace,
    wanted: &Wanted,
    jvm: &[String],
) -> anyhow::Result<(Lab<'w>, Vec<Subject>)> {
    tools::find(workspace, "oha")?;
    let lab = Lab::open(workspace, wanted.data_set, lab::usual_data_set()).await?;
    let mut subjects: Vec<Subject> = Vec::new();
    for target in &wanted.targets {
        let name = target.to_string();
        if subjects.iter().any(|subject| subject.id() == name) {
            continue;
        }
        lab.is_worth_a_release(*target, FIRST, &lab.database_url)
            .await?;
        println!("building {} for release", paint(Style::Strong, &name));
        let launch = builder::built(workspace, *target, Profile::Measure).await?;
        subjects.push(subject_of(&lab, *target, &name, launch, jvm)?);
    }
    Ok((lab, subjects))
}

/// A built target as it is measured, by this name.
pub fn subject_of(
    lab: &Lab<'_>,
    target: Target,
    name: &str,
    mut launch: Launch,
    jvm: &[String],
) -> anyhow::Result<Subject> {
    if launch.language == Language::Kotlin {
        launch = subject::with_flags(&launch, jvm);
    }
    let label = match target {
        Target::Kotlin => "Kotlin",
        _ => name,
    };
    let catalogue = Catalogue::read(lab.workspace)?;
    Ok(Subject {
        exercise: catalogue.of(target)?.map(|exercise| exercise.number),
        ..Subject::named(name, label, launch, lab.scratch())?
    })
}

/// What the result says of what was asked for.
pub fn asked(subjects: &[Subject]) -> Asked {
    let target = subjects.first().and_then(|first| first.id().parse().ok());
    Asked {
        task: NAME.to_owned(),
        exercise: EXERCISE,
        target: target.unwrap_or(Target::Kotlin),
        mode: Mode::Standard,
        peers: false,
    }
}

/// A run under way.
pub struct Endurance<'a> {
    experiment: Experiment<'a>,
    checkpoint: Checkpoint,
    extent: Extent,
}

impl<'a> Endurance<'a> {
    /// Carries on with the run in the checkpoint, or begins one. Nothing is started yet.
    pub fn begin(
        lab: &'a Lab<'a>,
        asked: &'a Asked,
        subjects: Vec<Subject>,
        extent: Extent,
    ) -> anyhow::Result<Self> {
        let conditions = conditions(&lab.manifest(&subjects), &subjects)?;
        let size = extent.chunks.size(extent.requests);
        let (path, now) = (&extent.checkpoint, lab::now());
        let checkpoint = Checkpoint::open(path, &now, size, &conditions, extent.anew)?;
        let left = left(&checkpoint, &ids(&subjects), &extent);
        let plan = Plan {
            takes: [left.as_secs(); 3],
            ..Plan::of(NAME, Mode::Standard)?
        };
        let run = Endurance {
            experiment: Experiment::of(lab, asked, subjects, plan),
            checkpoint,
            extent,
        };
        let (answered, of) = run.answered();
        if answered > 0 {
            println!(
                "{} of {} requests are there since {}; it carries on from there",
                in_full(answered),
                in_full(of),
                run.checkpoint.run.began
            );
        }
        Ok(run)
    }

    /// The requests that were answered, and those that were asked for, of all services together.
    pub fn answered(&self) -> (u64, u64) {
        let blocks = self.checkpoint.run.blocks.iter();
        let answered: f64 = blocks.filter_map(|block| block.valid(REQUESTS)).sum();
        let services = self.experiment.subjects.len() as u64;
        let size = self.checkpoint.run.chunk;
        (
            answered as u64,
            services * self.extent.requests.next_multiple_of(size),
        )
    }

    /// The checkpoint so far.
    pub fn checkpoint(&self) -> &Checkpoint {
        &self.checkpoint
    }

    /// Sends chunk after chunk until all are answered, or a service fails. Dropping the future ends what was started.
    pub async fn go_on(&mut self) -> anyhow::Result<()> {
        let subjects = self.experiment.subjects.clone();
        let size = self.checkpoint.run.chunk;
        let longest = Duration::from_secs_f64(self.extent.chunks.longest);
        let all = usize::try_from(self.extent.requests.div_ceil(size))?;
        let has = |checkpoint: &Checkpoint, subject: &Subject| checkpoint.of(subject.id()).count();
        let fewest = subjects
            .iter()
            .map(|subject| has(&self.checkpoint, subject));
        let fewest = fewest.min().unwrap_or(all);
        if fewest >= all {
            return Ok(());
        }
        let path = self.experiment.session.records();
        self.experiment.show_load_of(&path, Load::Counted(size));
        self.experiment.same_work().await?;
        let mut running = Vec::new();
        for subject in &subjects {
            if has(&self.checkpoint, subject) < all {
                running.push(self.started(subject, &path).await?);
            }
        }
        'run: for round in fewest..all {
            let left = left(&self.checkpoint, &ids(&subjects), &self.extent);
            let session = &mut self.experiment.session;
            let part = format!("chunk {} of {all}", round + 1);
            session.progress.left(left);
            session.progress.part(&part);
            let before = CpuTimes::now();
            for place in shuffled(running.len()) {
                let service = &mut running[place];
                let id = service.subject.id();
                if has(&self.checkpoint, service.subject) > round {
                    continue;
                }
                session.progress.phase(&format!("{part}, {id}"));
                let went = service.chunk(session, &path, size, longest).await?;
                self.checkpoint.add(id, went)?;
                if self.checkpoint.run.failed.is_some() {
                    break 'run;
                }
            }
            session.neighbors.since(before);
        }
        for service in running {
            service.started.stop().await?;
        }
        Ok(())
    }

    /// Starts a service and warms it up.
    async fn started<'s>(&self, subject: &'s Subject, path: &str) -> anyhow::Result<Running<'s>> {
        let session = &self.experiment.session;
        let title = format!("{}: warming up until steady", subject.id());
        session.progress.part(&title);
        let started = block::start(session, subject).await?;
        let limits = session.plan.warm_up_of(subject.runs_as);
        let warmed_up = block::warm_up(session, subject, &started, path, &limits).await?;
        Ok(Running {
            subject,
            started,
            segment: self.checkpoint.run.segment,
            served: warmed_up.answers,
        })
    }

    /// What is known so far, as a result.
    pub async fn finish(self) -> anyhow::Result<ResultFile> {
        let (answered, of) = self.answered();
        let Endurance {
            mut experiment,
            checkpoint,
            extent,
        } = self;
        let blocks = checkpoint.run.blocks.iter();
        let counted = blocks.filter(|block| block.valid(ERRORS) == Some(0.0));
        let records: Vec<_> = counted.cloned().collect();
        let notes = notes_on_blocks(&records, &experiment.subjects);
        experiment.notes.extend(notes);
        experiment.judge(&metrics::closed(NAME)?, &records, &[]);
        experiment.records = records;
        if let Some(Failed { side, reason }) = &checkpoint.run.failed {
            experiment.invalid.push(format!("{side}: {reason}"));
        } else if answered < of {
            experiment.notes.push(format!(
                "the run isn't done: {} of {} requests; the same command carries on from there",
                count(answered),
                count(of)
            ));
        }
        let mut subjects = experiment.subjects.iter();
        let kotlin = subjects.find(|subject| subject.has_a_set_heap());
        experiment.notes.extend(kotlin.map(|kotlin| {
            format!(
                "a JVM takes its whole heap at the start here, by `{}`: what grows is a leak beside the heap, and a leak into it ends in an error",
                kotlin.side.command
            )
        }));
        let mut result = experiment.finish().await?;
        NAME.clone_into(&mut result.target);
        let blocks = checkpoint.run.blocks.iter();
        let seconds =
            blocks.filter_map(|block| Some(block.valid(REQUESTS)? / block.valid("throughput")?));
        result.manifest.took_s = seconds.filter(|took| took.is_finite()).sum::<f64>().round();
        let (table, chart) = tables::endurance::drawn(&result, &checkpoint, extent.chunks.settles);
        result.tables.push(table);
        result.charts.extend(chart);
        Ok(result)
    }
}

/// A number for the terminal.
pub fn in_full(number: u64) -> String {
    count(number).replace(THIN, " ")
}

/// How long the chunks take that are still to come: each as long as the last one of its service, or by this rate while there is none.
fn left(checkpoint: &Checkpoint, sides: &[String], extent: &Extent) -> Duration {
    let seconds = sides.iter().map(|side| {
        let values = |key| {
            checkpoint
                .of(side)
                .filter_map(move |block| block.valid(key))
        };
        let sent: f64 = values(REQUESTS).sum();
        let rate = values("throughput").last();
        let rate = rate.unwrap_or(extent.chunks.rate).max(1.0);
        (extent.requests as f64 - sent).max(0.0) / rate
    });
    Duration::from_secs_f64(seconds.sum())
}

/// What has to be the same for all chunks of a run.
fn conditions(manifest: &Manifest, subjects: &[Subject]) -> anyhow::Result<Conditions> {
    let postgresql = manifest.versions.get("postgresql");
    let postgresql = postgresql.map_or("unknown", String::as_str);
    let mut conditions: Conditions = [
        (
            "commit",
            manifest.commit.as_deref().unwrap_or("none").to_owned(),
        ),
        ("machine", machine::label(&manifest.machine)),
        (
            "data set",
            format!(
                "{}, fingerprint {}",
                manifest.data_set, manifest.fingerprint
            ),
        ),
        (
            "database",
            format!("PostgreSQL {postgresql}, {}", manifest.database),
        ),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into();
    for subject in subjects {
        let (launch, side) = (&subject.launch, &subject.side);
        let shipped = launch.parts.iter().chain([&launch.artifact]);
        let hash = fingerprint(&shipped.cloned().collect::<Vec<_>>())?;
        let value = format!(
            "{} ({}), sha256 {}",
            side.command,
            side.runtime,
            &hash[..12]
        );
        conditions.insert(format!("program {}", side.id), value);
    }
    Ok(conditions)
}
