//! An endurance run: millions of random reads in chunks, in a closed loop, each service on one process for all of them. Does its
//! memory stay flat, do its descriptors, its threads and its latency, and is every answer a 200?
//!
//! Chunks take turns: one of each service, in random order, then the next of each. What slowly changes in the machine meets all of
//! them alike, and a run that is stopped has come equally far with each. The others wait meanwhile, and an idle service takes no CPU.
//!
//! A JVM is given its whole heap at the start, since how much of a larger one holds objects is policy. What leaks beside the heap then
//! shows in the slope. What leaks into it ends in an `OutOfMemoryError`, and with it in an answer that isn't a 200.

pub mod chunk;

use std::time::Duration;

use workshop_base::clock::Clocks;
use workshop_base::exercise::Catalogue;
use workshop_base::outcome::Interrupted;
use workshop_base::target::{Language, Target};
use workshop_base::terminal::{Style, paint};
use workshop_base::workspace::Workspace;
use workshop_harness::build::{Launch, Profile};
use workshop_postgres::datasets::DataSet;
use workshop_results::figures::count;
use workshop_results::file::{BlockRecord, Mode, ResultFile};
use workshop_results::key::{ERRORS, REQUESTS, THROUGHPUT};

use crate::endurance::chunk::{ChunkResult, Running};
use crate::tables;
use workshop_measure::protocol::block;
use workshop_measure::protocol::builder;
use workshop_measure::protocol::lab::{self, Lab};
use workshop_measure::protocol::metrics;
use workshop_measure::protocol::neighbors::CpuTimes;
use workshop_measure::protocol::plan::{Chunks, Plan, shuffled};
use workshop_measure::protocol::rows::Asked;
use workshop_measure::protocol::session::Session;
use workshop_measure::protocol::subject::{self, Subject};
use workshop_measure::tools;
use workshop_measure::tools::oha::Load;

/// The name of the measurement and of its files.
pub use workshop_results::file::ENDURANCE as NAME;
/// What is measured in the exercise that it belongs to.
const TASK: &str = "energy";
/// What a port must answer with 200 before it is worth a release build.
const FIRST: &str = "/read/1";

/// What is asked for.
#[derive(Debug, Clone)]
pub struct EnduranceOrder {
    /// Who is measured.
    pub targets: Vec<Target>,
    /// The requests that each of them gets, in all.
    pub requests: u64,
    /// The data set to read from; none for the usual one.
    pub data_set: Option<DataSet>,
}

/// How far a run goes.
#[derive(Debug, Clone)]
pub struct Extent {
    /// The requests that each service gets, in all.
    pub requests: u64,
    /// How they are cut.
    pub chunks: Chunks,
}

impl Extent {
    /// The requests of a chunk.
    fn size(&self) -> u64 {
        self.chunks.size(self.requests)
    }

    /// The chunks that each service gets.
    fn rounds(&self) -> u64 {
        self.requests.div_ceil(self.size())
    }
}

/// A run that came to its end, or was stopped.
#[derive(Debug)]
pub struct Ended {
    /// What was measured.
    pub result: ResultFile,
    /// Where it was stopped: the requests that were answered, of those that were asked for.
    pub stopped_at: Option<(u64, u64)>,
}

/// Runs until it is done, a service fails, or `stop` says so; what was measured by then is the result. A service that does not start and a
/// missing tool are errors; a service that fails under load makes the result invalid.
pub async fn measure(
    workspace: &Workspace,
    wanted: &EnduranceOrder,
    stop: impl Future<Output = ()>,
) -> anyhow::Result<Ended> {
    tokio::pin!(stop);
    let nothing = || Interrupted::new("interrupted before the first chunk; nothing is written");
    let chunks = Chunks::of_the_course()?;
    let (lab, subjects) = tokio::select! {
        prepared = prepared(workspace, wanted, &chunks.jvm) => prepared?,
        () = &mut stop => return Err(nothing().into()),
    };
    let asked = asked(&lab, &subjects)?;
    let extent = Extent {
        requests: wanted.requests,
        chunks,
    };
    let mut run = Endurance::of(&lab, &asked, subjects, extent)?;
    let stopped = tokio::select! {
        ended = run.run() => ended.map(|()| false)?,
        () = &mut stop => true,
    };
    if stopped && run.chunks.is_empty() {
        return Err(nothing().into());
    }
    let stopped_at = stopped.then(|| run.answered());
    Ok(Ended {
        result: run.finish().await?,
        stopped_at,
    })
}

/// Opens the lab, and builds the targets as they would be shipped. The tools are looked for first: data are seeded for minutes.
async fn prepared<'w>(
    workspace: &'w Workspace,
    wanted: &EnduranceOrder,
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
        checks_keys: catalogue.checks_keys(target)?,
        ..Subject::named(name, label, launch, lab.scratch())?
    })
}

/// What the result says of what was asked for.
pub fn asked(lab: &Lab<'_>, subjects: &[Subject]) -> anyhow::Result<Asked> {
    let catalogue = Catalogue::read(lab.workspace)?;
    let target = subjects.first().and_then(|first| first.id().parse().ok());
    Ok(Asked {
        task: NAME.to_owned(),
        exercise: catalogue.first_measured_by(TASK)?.number,
        target: target.unwrap_or(Target::Kotlin),
        mode: Mode::Standard,
        rounds: None,
        peers: false,
    })
}

/// What ended a run early.
pub struct Failed {
    /// The side's id.
    pub side: String,
    /// Why.
    pub reason: String,
}

/// A run under way.
pub struct Endurance<'a> {
    session: Session<'a>,
    subjects: Vec<Subject>,
    extent: Extent,
    running: Vec<Running>,
    chunks: Vec<BlockRecord>,
    failed: Option<Failed>,
}

impl<'a> Endurance<'a> {
    /// One in which nothing is started yet.
    pub fn of(
        lab: &'a Lab<'a>,
        asked: &'a Asked,
        subjects: Vec<Subject>,
        extent: Extent,
    ) -> anyhow::Result<Self> {
        let seconds = subjects.len() as f64 * extent.requests as f64 / extent.chunks.rate;
        let plan = Plan {
            takes: [seconds as u64; 3],
            ..Plan::of(NAME, Mode::Standard)?
        };
        Ok(Endurance {
            session: Session::of(lab, asked, &subjects, plan),
            subjects,
            extent,
            running: Vec::new(),
            chunks: Vec::new(),
            failed: None,
        })
    }

    /// The requests that were answered, and those that were asked for, of all services together.
    pub fn answered(&self) -> (u64, u64) {
        let chunks = self.chunks.iter();
        let answered: f64 = chunks.filter_map(|chunk| chunk.valid(&REQUESTS)).sum();
        let services = self.subjects.len() as u64;
        let of = services * self.extent.rounds() * self.extent.size();
        (answered as u64, of)
    }

    /// Sends chunk after chunk until all are answered, or a service fails. Dropping the future ends the chunk that is under way.
    pub async fn run(&mut self) -> anyhow::Result<()> {
        self.start().await?;
        for number in 1..=self.extent.rounds() {
            self.round(number).await;
            if self.failed.is_some() {
                break;
            }
        }
        Ok(())
    }

    /// Has the gate passed, starts the services, and warms each up.
    pub async fn start(&mut self) -> anyhow::Result<()> {
        let path = self.session.records();
        let load = Load::Counted(self.extent.size());
        self.session.show_load_of(&path, load);
        self.subjects = self.session.same_work(self.subjects.clone()).await?;
        let session = &self.session;
        for subject in &self.subjects {
            let title = format!("{}: warming up until steady", subject.id());
            session.progress.part(&title);
            let started = block::start(session, subject).await?;
            let limits = session.plan.warm_up_of(subject.runs_as);
            let warmed_up =
                block::warm_up(session, subject, &started.service, &path, &limits).await?;
            self.running.push(Running {
                side: subject.id().to_owned(),
                started,
                served: warmed_up.answers,
            });
        }
        Ok(())
    }

    /// The round of this number, from 1: one chunk of each service, in random order. It ends with the first that fails.
    pub async fn round(&mut self, number: u64) {
        let (size, all) = (self.extent.size(), self.extent.rounds());
        let longest = Duration::from_secs_f64(self.extent.chunks.longest);
        let left = self.left();
        let session = &mut self.session;
        let path = session.records();
        let part = format!("chunk {number} of {all}");
        session.progress.left(left);
        session.progress.part(&part);
        let before = CpuTimes::now();
        for place in shuffled(self.running.len()) {
            let service = &mut self.running[place];
            let side = &service.side;
            session.progress.phase(&format!("{part}, {side}"));
            let clocks = Clocks::now();
            let went = service.chunk(session, &path, size, longest).await;
            let jumps = Clocks::now().since(&clocks);
            session.jumps = session.jumps.and(jumps);
            // An error of a tool ends the run as well, but not what was measured before it.
            let went = went.unwrap_or_else(|error| ChunkResult {
                observed: None,
                wrong: Some(format!("{error:#}")),
            });
            let (side, place) = (service.side.clone(), self.chunks.len() + 1);
            let chunk = went.observed.map(|mut observed| {
                observed.judge(jumps);
                observed.record(number as usize, place, &side)
            });
            self.chunks.extend(chunk);
            if let Some(reason) = went.wrong {
                self.failed = Some(Failed { side, reason });
                break;
            }
        }
        session.neighbors.since(before, &[]);
    }

    /// How long the chunks take that are still to come: each as long as the last one of its service, or by the course's rate while there
    /// is none.
    fn left(&self) -> Duration {
        let seconds = self.running.iter().map(|service| {
            let of_side = || {
                let chunks = self.chunks.iter();
                chunks.filter(|chunk| chunk.side == service.side)
            };
            let sent: f64 = of_side().filter_map(|chunk| chunk.valid(&REQUESTS)).sum();
            let rate = of_side().filter_map(|chunk| chunk.valid(&THROUGHPUT));
            let rate = rate.last().unwrap_or(self.extent.chunks.rate).max(1.0);
            (self.extent.requests as f64 - sent).max(0.0) / rate
        });
        Duration::from_secs_f64(seconds.sum())
    }

    /// Stops the services; the result holds what was measured by then.
    pub async fn finish(self) -> anyhow::Result<ResultFile> {
        let (answered, of) = self.answered();
        let Endurance {
            mut session,
            subjects,
            extent,
            running,
            chunks,
            failed,
        } = self;
        for service in running {
            service.started.stop().await?;
        }
        let counted = chunks
            .iter()
            .filter(|chunk| chunk.valid(&ERRORS) == Some(0.0));
        let records: Vec<_> = counted.cloned().collect();
        let definitions = metrics::closed(NAME)?;
        let mut found = session.judged(&definitions, &subjects, records, None);
        if let Some(Failed { side, reason }) = &failed {
            found.invalid.push(format!("{side}: {reason}"));
        } else if answered < of {
            session.notes.push(format!(
                "the run was stopped after {} of {} requests",
                count(answered),
                count(of)
            ));
        }
        let kotlin = subjects.iter().find(|subject| subject.has_a_set_heap());
        session.notes.extend(kotlin.map(|kotlin| {
            format!(
                "a JVM takes its whole heap at the start here, by `{}`: what grows is a leak beside the heap, and a leak into it ends in an error",
                kotlin.side.command
            )
        }));
        let mut result = session.finish(&subjects, found).await?;
        NAME.clone_into(&mut result.target);
        let (table, chart) =
            tables::endurance::drawn(&result, &chunks, failed.as_ref(), extent.chunks.settles);
        result.tables.push(table);
        result.charts.extend(chart);
        Ok(result)
    }
}
