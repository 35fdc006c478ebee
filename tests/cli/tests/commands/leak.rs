//! Endurance runs on services that leak, die or are stopped: what a run finds, and what it keeps. These are small runs on a build
//! for checks. The one on releases, with the course's own chunks and 200 000 requests each, takes minutes and runs only when it is
//! asked for: `cargo test --package workshop --test commands -- --ignored leak:: a_release`.

#![expect(
    clippy::expect_used,
    reason = "the helpers of a test may fail as the test itself may"
)]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::sync::Mutex;
use workshop_base::exercise::Catalogue;
use workshop_base::outcome::{Outcome, Trouble};
use workshop_base::target::Target;
use workshop_base::workspace::Workspace;
use workshop_base::{process, wait};
use workshop_harness::build::{self, Profile};
use workshop_harness::copies::Copy;
use workshop_measure::protocol::lab::Lab;
use workshop_measure::protocol::plan::Chunks;
use workshop_measure::protocol::subject::Subject;
use workshop_postgres::Server;
use workshop_postgres::datasets::DataSet;
use workshop_results::file::ResultFile;
use workshop_results::shown::Cell;
use workshop_tasks::endurance::checkpoint::EnduranceRun;
use workshop_tasks::endurance::{self, Endurance, Extent};

/// The reference that is measured, and what its copy with a leak is called.
const REFERENCE: Target = Target::Solution(13);
const LEAKY: &str = "leaky-13";
/// A kilobyte per read that nobody gives back.
const LEAK: &str = "--- a/src/read.rs
+++ b/src/read.rs
@@ -15,3 +15,4 @@
 ) -> Result<Json<Record>, Error> {
+    std::mem::forget(std::hint::black_box(vec![1_u8; 1024]));
     let id = id.map_err(|_| Error::BadRequest(\"id must be a 32-bit integer\"))?;
 
";
/// How long anything may take that a test waits for.
const PATIENCE: Duration = Duration::from_secs(180);
/// The variable that has this binary play the tool, with the checkpoint's path.
const PLAYS: &str = "WORKSHOP_PLAYS_ENDURANCE";

/// Two runs at once would share the cores.
static ONE_AT_A_TIME: Mutex<()> = Mutex::const_new(());

/// A run of so many requests in forty chunks.
fn small(checkpoint: &Path, requests: u64) -> Extent {
    Extent {
        requests,
        chunks: Chunks {
            largest: requests / 40,
            fewest: 40,
            longest: 60.0,
            settles: 5_000,
            rate: 2_000.0,
            jvm: Vec::new(),
        },
        checkpoint: checkpoint.to_owned(),
        anew: false,
    }
}

/// The workspace, and the small data set on its server.
async fn lab(workspace: &Workspace) -> anyhow::Result<Lab<'_>> {
    let server = Server::ensure(workspace).await?;
    Lab::on(workspace, server, DataSet::Small).await
}

async fn reference(lab: &Lab<'_>, profile: Profile) -> anyhow::Result<Subject> {
    let launch = build::build(lab.workspace, REFERENCE, profile).await?;
    endurance::subject_of(lab, REFERENCE, &REFERENCE.to_string(), launch, &[])
}

/// The reference with the leak. Its folder goes with the copy.
async fn leaky(lab: &Lab<'_>, profile: Profile) -> anyhow::Result<(Subject, Copy)> {
    let catalogue = Catalogue::read(lab.workspace)?;
    let exercise = catalogue.of(REFERENCE)?.context("an exercise")?;
    let solution = exercise.solution(lab.workspace);
    let copy = Copy::patched(lab.workspace, &solution, LEAKY, LEAK).await?;
    let launch = build::launch(lab.workspace, None, copy.krate(), profile).await?;
    let subject = endurance::subject_of(lab, REFERENCE, LEAKY, launch, &[])?;
    Ok((subject, copy))
}

/// What the table says of a service, by its columns.
fn row<'a>(result: &'a ResultFile, side: &str) -> &'a [Cell] {
    let table = result.tables.iter().find(|table| table.id == "endurance");
    let rows = &table.expect("the table").rows;
    let row = rows.iter().find(|row| row.heading == side);
    &row.expect("a row").cells
}

/// The columns of the verdict, the slope and the number of processes.
const SLOPE: usize = 4;
const VERDICT: usize = 5;
const PROCESSES: usize = 12;

/// Runs the reference beside its copy with the leak, which alone has to be found.
async fn finds_the_leak(profile: Profile, extent: impl Fn(&Path) -> Extent) -> anyhow::Result<()> {
    let _turn = ONE_AT_A_TIME.lock().await;
    let folder = tempfile::tempdir()?;
    let workspace = Workspace::find()?;
    let lab = lab(&workspace).await?;
    let (leaky, _copy) = leaky(&lab, profile).await?;
    let subjects = vec![reference(&lab, profile).await?, leaky];
    let asked = endurance::asked(&subjects);
    let extent = extent(&folder.path().join("run.checkpoint"));
    let mut run = Endurance::begin(&lab, &asked, subjects, extent)?;
    run.go_on().await?;
    let result = run.finish().await?;
    assert_eq!(result.invalid, Vec::<String>::new());
    workshop_results::write::text::print(&workshop_results::view::terminal(&result));
    let (kept, leaks) = (row(&result, &REFERENCE.to_string()), row(&result, LEAKY));
    assert_eq!(leaks[VERDICT], Cell::text("grows"), "{leaks:?}");
    let Cell::Range { value, .. } = leaks[SLOPE] else {
        panic!("{leaks:?}");
    };
    // The allocator takes more than what was asked for, and cannot use all that lies between.
    assert!((1000.0..1500.0).contains(&value), "{leaks:?}");
    assert_ne!(kept[VERDICT], Cell::text("grows"), "{kept:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_planted_leak_is_found_and_the_reference_does_not_grow() -> anyhow::Result<()> {
    finds_the_leak(Profile::Check, |checkpoint| small(checkpoint, 12_000)).await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: builds releases"]
async fn a_release_with_a_leak_is_found_within_200_000_requests() -> anyhow::Result<()> {
    let chunks = Chunks::of_the_course()?;
    let extent = |checkpoint: &Path| Extent {
        requests: 200_000,
        chunks: chunks.clone(),
        checkpoint: checkpoint.to_owned(),
        anew: false,
    };
    finds_the_leak(Profile::Measure, extent).await
}

/// How many chunks a checkpoint has; none while there is no file.
fn chunks(checkpoint: &Path) -> usize {
    let Ok(bytes) = std::fs::read(checkpoint) else {
        return 0;
    };
    let run: EnduranceRun = serde_json::from_slice(&bytes).expect("a whole file");
    run.blocks.len()
}

/// Waits until the checkpoint has so many chunks.
async fn until(checkpoint: &Path, number: usize) {
    let there = async || (chunks(checkpoint) >= number).then_some(());
    let there = wait::within(PATIENCE, there).await;
    there.expect("chunks in time");
}

/// A run of the reference alone, with a checkpoint in a folder of its own.
struct Scene {
    folder: tempfile::TempDir,
    workspace: Workspace,
}

impl Scene {
    fn new() -> anyhow::Result<Self> {
        Ok(Scene {
            folder: tempfile::tempdir()?,
            workspace: Workspace::find()?,
        })
    }

    fn checkpoint(&self) -> PathBuf {
        self.folder.path().join("run.checkpoint")
    }
}

/// Four thousand requests in forty chunks.
async fn of_the_reference(lab: &Lab<'_>) -> anyhow::Result<Vec<Subject>> {
    Ok(vec![reference(lab, Profile::Check).await?])
}

fn extent_of(checkpoint: &Path) -> Extent {
    small(checkpoint, 4_000)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_is_killed_loses_a_chunk_at_most_and_carries_on() -> anyhow::Result<()> {
    let _turn = ONE_AT_A_TIME.lock().await;
    let scene = Scene::new()?;
    let lab = lab(&scene.workspace).await?;
    let subjects = of_the_reference(&lab).await?;
    let mut tool = Command::new(std::env::current_exe()?)
        .args([
            "--exact",
            "leak::plays_the_tool",
            "--ignored",
            "--nocapture",
        ])
        .env(PLAYS, scene.checkpoint())
        .stdin(Stdio::null())
        .spawn()?;
    let mut ended = None;
    let there = async || {
        ended = tool.try_wait().ok().flatten();
        (ended.is_some() || chunks(&scene.checkpoint()) >= 5).then_some(())
    };
    let there = wait::within(PATIENCE, there).await;
    assert_eq!(
        (there, ended),
        (Some(()), None),
        "chunks of a tool that runs"
    );
    tool.kill()?;
    tool.wait()?;
    let kept = chunks(&scene.checkpoint());
    assert!((5..40).contains(&kept), "{kept}");

    let asked = endurance::asked(&subjects);
    let mut run = Endurance::begin(&lab, &asked, subjects, extent_of(&scene.checkpoint()))?;
    assert_eq!(
        (
            run.checkpoint().run.blocks.len(),
            run.checkpoint().run.segment
        ),
        (kept, 2)
    );
    run.go_on().await?;
    assert_eq!(run.answered(), (4_000, 4_000));
    let result = run.finish().await?;
    assert_eq!(result.invalid, Vec::<String>::new());
    let row = row(&result, &REFERENCE.to_string());
    assert_eq!(row[0], Cell::Count(4_000));
    assert_eq!(row[PROCESSES], Cell::Count(2));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "plays the tool that the test above kills"]
async fn plays_the_tool() -> anyhow::Result<()> {
    let Some(checkpoint) = std::env::var_os(PLAYS) else {
        return Ok(());
    };
    let workspace = Workspace::find()?;
    let lab = lab(&workspace).await?;
    let subjects = of_the_reference(&lab).await?;
    let asked = endurance::asked(&subjects);
    let extent = extent_of(Path::new(&checkpoint));
    Endurance::begin(&lab, &asked, subjects, extent)?
        .go_on()
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_stopped_says_how_far_it_came_and_leaves_no_process() -> anyhow::Result<()> {
    let _turn = ONE_AT_A_TIME.lock().await;
    let scene = Scene::new()?;
    let lab = lab(&scene.workspace).await?;
    let subjects = of_the_reference(&lab).await?;
    let asked = endurance::asked(&subjects);
    let mut run = Endurance::begin(&lab, &asked, subjects, extent_of(&scene.checkpoint()))?;
    let checkpoint = scene.checkpoint();
    tokio::select! {
        gone = run.go_on() => panic!("it came to its end: {gone:?}"),
        () = until(&checkpoint, 3) => {}
    }
    assert_eq!(services(), Vec::<u32>::new());
    let (answered, of) = run.answered();
    assert!(
        (300..4_000).contains(&answered) && of == 4_000,
        "{answered}"
    );
    let result = run.finish().await?;
    let said = result.notes.join("\n");
    assert!(said.contains("the run isn't done"), "{said}");
    assert_eq!(
        row(&result, &REFERENCE.to_string())[0],
        Cell::Count(answered)
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_dies_ends_the_run_for_good_with_the_reason() -> anyhow::Result<()> {
    let _turn = ONE_AT_A_TIME.lock().await;
    let scene = Scene::new()?;
    let lab = lab(&scene.workspace).await?;
    let subjects = of_the_reference(&lab).await?;
    let asked = endurance::asked(&subjects);
    let again = subjects.clone();
    let mut run = Endurance::begin(&lab, &asked, subjects, extent_of(&scene.checkpoint()))?;
    let checkpoint = scene.checkpoint();
    let killed = async {
        until(&checkpoint, 3).await;
        for pid in services() {
            kill(Pid::from_raw(pid.cast_signed()), Signal::SIGKILL)?;
        }
        anyhow::Ok(Instant::now())
    };
    let (gone, killed) = tokio::join!(run.go_on(), killed);
    gone?;
    assert!(killed?.elapsed() < Duration::from_secs(20), "noticed late");
    let result = run.finish().await?;
    let said = result.invalid.join("\n");
    assert!(
        said.starts_with("solution-13: the service ended under load (signal: 9"),
        "{said}"
    );
    assert_eq!(
        row(&result, &REFERENCE.to_string())[VERDICT],
        Cell::text("invalid")
    );

    let kept = std::fs::read(&checkpoint)?;
    let refused = Endurance::begin(&lab, &asked, again, extent_of(&checkpoint));
    let refused = refused.err().context("it is refused")?;
    let trouble = Trouble::of(&refused).context("words for people")?;
    assert_eq!(trouble.outcome(), Outcome::Failed);
    assert!(
        refused.to_string().contains("the service ended under load"),
        "{refused}"
    );
    assert_eq!(std::fs::read(&checkpoint)?, kept);
    Ok(())
}

/// The references that this process has started and that run.
fn services() -> Vec<u32> {
    let (this, name) = (std::process::id(), REFERENCE.to_string());
    let all = process::all().into_iter();
    all.filter(|(pid, known)| known.parent == this && known.name == name && !process::is_gone(*pid))
        .map(|(pid, _)| pid)
        .collect()
}
