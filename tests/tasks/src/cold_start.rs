//! The cold start (exercise 2): from spawn to the first 200 of `/ready`, timed by hyperfine.
//!
//! hyperfine times a helper, `workshop cold-start`, that spawns the service and returns with its first 200. What the
//! helper itself takes is measured too: as the start of a service that does nothing.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;

use crate::start_helper::{self, SeenStart, StartOrder};
use workshop_harness::build::Launch;
use workshop_harness::service::{self, Settings};
use workshop_measure::protocol::block::{Observed, megabytes, turns};
use workshop_measure::protocol::experiment::Duets;
use workshop_measure::protocol::gates::{self, Stage};
use workshop_measure::protocol::lab::Lab;
use workshop_measure::protocol::metrics;
use workshop_measure::protocol::neighbors::CpuTimes;
use workshop_measure::protocol::plan::POOL_SIZE;
use workshop_measure::protocol::rows::Asked;
use workshop_measure::protocol::session::Session;
use workshop_measure::protocol::subject::Subject;
use workshop_measure::tools::hyperfine::{Hyperfine, Timing};
use workshop_results::figures::figure;
use workshop_results::file::ResultFile;
use workshop_results::key::{MEMORY, SIZE, START_UP, START_UP_CPU, START_UP_INSIDE, THREADS};
use workshop_results::statistics::median;

/// The path that is asked for: a service that answers it has reached the database.
const PATH: &str = "/ready";
/// How often a start is tried whose port somebody else took.
const PORT_ATTEMPTS: usize = 3;

/// Something that is started over and over.
struct Starter {
    id: String,
    timing: Timing,
    order: StartOrder,
    /// Where the order is written down.
    file: PathBuf,
}

impl Starter {
    fn new(id: &str, launch: Launch, helper: &Path, lab: &Lab<'_>) -> anyhow::Result<Self> {
        let file = lab.scratch().join(format!("{id}.json"));
        let order = StartOrder {
            launch,
            settings: Settings {
                pool_size: POOL_SIZE,
                ..Settings::new(&lab.database_url)
            },
            path: PATH.to_owned(),
            seen: lab.scratch().join(format!("{id}.seen.json")),
            log: lab.scratch().join(format!("{id}.log")),
        };
        start_helper::write(&file, &order)?;
        let words = |stop: bool| {
            let mut words = vec![helper.display().to_string(), "cold-start".to_owned()];
            words.extend(stop.then(|| "--stop".to_owned()));
            words.push(file.display().to_string());
            words
        };
        Ok(Starter {
            id: id.to_owned(),
            timing: Timing::once(&words(false), &words(true)),
            order,
            file,
        })
    }

    /// One start, timed; what the helper saw comes along.
    async fn once(
        &self,
        hyperfine: &Hyperfine,
        scratch: &Path,
    ) -> anyhow::Result<(Duration, SeenStart)> {
        let mut attempt = 1;
        loop {
            let times = hyperfine.times(&self.timing, scratch).await;
            let seen: anyhow::Result<SeenStart> = start_helper::read(&self.order.seen);
            let error = match times {
                Ok(times) => return Ok((*times.first().context("no time")?, seen?)),
                Err(error) => error,
            };
            let Some(trouble) = seen.ok().and_then(|seen| seen.trouble) else {
                return Err(error);
            };
            if !service::port_was_taken(&trouble) || attempt == PORT_ATTEMPTS {
                return Err(error.context(trouble));
            }
            attempt += 1;
        }
    }
}

/// Measures the cold start of a target beside Kotlin's.
pub async fn measure(lab: &Lab<'_>, asked: &Asked) -> anyhow::Result<ResultFile> {
    let hyperfine = Hyperfine::find(lab.workspace)?;
    let helper = helper(lab.scratch())?;
    let (mut session, subjects) = Session::begin(lab, asked, &asked.task).await?;
    let starters = subjects
        .iter()
        .map(|subject| Starter::new(subject.id(), subject.launch.clone(), &helper, lab))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let nothing = nothing(&helper, &starters, &subjects)?;
    let floor = Starter::new("nothing", nothing, &helper, lab)?;
    for starter in &starters {
        println!("the raw command:  {}", starter.timing.typed());
    }
    let progress = &session.progress;
    progress.part("the same answers?");
    gates::on_stages(lab.workspace, &subjects, &lab.database_url, same_probes).await?;
    progress.part("one start of each, not counted: the files come into the cache");
    for starter in starters.iter().chain([&floor]) {
        starter.once(&hyperfine, lab.scratch()).await?;
    }
    let (mut floors, mut rounds) = (Vec::new(), Vec::new());
    for turn in turns(&session.plan, &subjects) {
        session.progress.part(&turn.title);
        let before = CpuTimes::now();
        let mut starters = starters.iter();
        let starter = starters.find(|starter| starter.id == turn.subject.id());
        let starter = starter.context("a side that cannot be started")?;
        let (time, seen) = starter.once(&hyperfine, lab.scratch()).await?;
        let (nothing, _) = floor.once(&hyperfine, lab.scratch()).await?;
        floors.push(nothing.as_secs_f64() * 1e3);
        rounds.push(turn.record(observed(time, &seen, turn.subject)));
        session.neighbors.since(before);
    }
    session.connections = 0;
    session.notes.extend(median(&floors).map(|floor| {
        let floor = figure(floor);
        format!("the helper with a service that does nothing takes {floor} ms (median): that much of every start-up is not the service's")
    }));
    let cached = "files are in the page cache: the first start after a boot takes longer";
    session.notes.push(cached.to_owned());
    let definitions = metrics::closed("cold-start")?;
    let found = session
        .judged(&definitions, &subjects, rounds, Duets::default())
        .decided_by(&START_UP, &subjects);
    session.finish(&subjects, found).await
}

/// The probes of all sides say the same.
async fn same_probes(stages: &[Stage]) -> anyhow::Result<()> {
    for stage in stages {
        stage.is_ready(PATH).await?;
    }
    for path in ["/health", PATH] {
        gates::same_answers(stages, path).await?;
    }
    Ok(())
}

/// The tool itself under a name that stays, even when the tool is built again meanwhile.
fn helper(scratch: &Path) -> anyhow::Result<PathBuf> {
    let tool = std::env::current_exe().context("the tool cannot find its own program")?;
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
    Ok(Launch {
        program: helper.to_path_buf(),
        args: vec![
            "cold-start".into(),
            "--answer".into(),
            (&starter.file).into(),
        ],
        label: "nothing".to_owned(),
        ..subject.launch.clone()
    })
}

fn observed(time: Duration, seen: &SeenStart, subject: &Subject) -> Observed {
    let mut observed = Observed::default();
    observed.value(START_UP, Some(time.as_secs_f64() * 1e3));
    observed.value(SIZE, Some(subject.size as f64 / 1e6));
    observed.value(START_UP_INSIDE, seen.ready_ms);
    observed.value(START_UP_CPU, seen.cpu_ms);
    observed.value(MEMORY, seen.peak_kb.map(megabytes));
    observed.value(THREADS, seen.threads.map(|threads| threads as f64));
    observed
}
