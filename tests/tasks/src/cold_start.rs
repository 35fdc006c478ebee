//! The cold start (exercise 2): from spawn to the first 200 of `/ready`, on fresh processes. A service that answers it has reached the
//! database.

use workshop_base::process;
use workshop_measure::protocol::block::{Block, megabytes, turns};
use workshop_measure::protocol::gates::{self, Stage};
use workshop_measure::protocol::lab::Lab;
use workshop_measure::protocol::metrics;
use workshop_measure::protocol::rows::Asked;
use workshop_measure::protocol::session::Session;
use workshop_results::file::ResultFile;
use workshop_results::key::{MEMORY, START_UP, THREADS};

/// The path that is asked for.
const PATH: &str = "/ready";

/// Measures the cold start of a target beside Kotlin's.
pub async fn measure(lab: &Lab<'_>, asked: &Asked) -> anyhow::Result<ResultFile> {
    let (mut session, mut subjects) = Session::begin(lab, asked, &asked.task).await?;
    for subject in &mut subjects {
        subject.first_path = Some(PATH.to_owned());
    }
    session.progress.part("the same answers?");
    gates::on_stages(lab.workspace, &subjects, &lab.database_url, same_probes).await?;
    let mut rounds = Vec::new();
    for turn in turns(&session.plan, &subjects) {
        let mut block = Block::start(&session, &turn).await?;
        let pid = block.service().pid();
        let (memory, threads) = (process::peak_kb(pid), process::threads(pid));
        block.observed.value(MEMORY, memory.map(megabytes));
        let threads = threads.map(|threads| threads as f64);
        block.observed.value(THREADS, threads);
        rounds.push(block.end(&mut session).await?);
    }
    session.connections = 0;
    let cached = "each start is the second of two: files are in the page cache, and the first start after a boot takes longer";
    session.notes.push(cached.to_owned());
    let definitions = metrics::closed("cold-start")?;
    let found = session
        .judged(&definitions, &subjects, rounds, None)
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
