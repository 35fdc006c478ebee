//! Endurance runs on services that leak, die or are stopped: what a run finds, and what it says. These are small runs on a build
//! for checks. The one on releases, with the course's own chunks and 200 000 requests each, takes minutes and runs only when it is
//! asked for: `cargo test --package workshop-author --test commands -- --ignored leak:: a_release`.

#![expect(
    clippy::expect_used,
    reason = "the helpers of a test may fail as the test itself may"
)]

use std::time::{Duration, Instant};

use anyhow::Context;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::sync::Mutex;
use workshop_base::exercise::Catalogue;
use workshop_base::process;
use workshop_base::target::Target;
use workshop_base::workspace::Workspace;
use workshop_harness::build::{self, Profile};
use workshop_harness::copies::Copy;
use workshop_measure::protocol::lab::Lab;
use workshop_measure::protocol::plan::Chunks;
use workshop_measure::protocol::rows::Asked;
use workshop_measure::protocol::subject::Subject;
use workshop_postgres::Server;
use workshop_postgres::datasets::DataSet;
use workshop_results::file::ResultFile;
use workshop_results::shown::Cell;
use workshop_tasks::endurance::{self, Endurance, Extent};

/// The reference that is measured, and what its copy with a leak is called.
const REFERENCE: Target = Target::Solution(11);
const LEAKY: &str = "leaky-13";
/// A kilobyte per read that nobody gives back.
const LEAK: &str = "--- a/src/read.rs
+++ b/src/read.rs
@@ -15,3 +15,4 @@
 ) -> Result<Json<Record>, Error> {
+    std::mem::forget(std::hint::black_box(vec![1_u8; 1024]));
     let id = id.map_err(|_| Error::BadRequest(\"id must be a 32-bit integer\"))?;
 
";

/// Two runs at once would share the cores.
static ONE_AT_A_TIME: Mutex<()> = Mutex::const_new(());

/// A run of so many requests in forty chunks.
fn small(requests: u64) -> Extent {
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

/// The columns of the requests, the slope and the verdict.
const REQUESTS: usize = 0;
const SLOPE: usize = 4;
const VERDICT: usize = 5;

/// Runs the reference beside its copy with the leak, which alone has to be found.
async fn finds_the_leak(profile: Profile, extent: Extent) -> anyhow::Result<()> {
    let _turn = ONE_AT_A_TIME.lock().await;
    let workspace = Workspace::find()?;
    let lab = lab(&workspace).await?;
    let (leaky, _copy) = leaky(&lab, profile).await?;
    let subjects = vec![reference(&lab, profile).await?, leaky];
    let asked = endurance::asked(&lab, &subjects)?;
    let requests = extent.requests;
    let mut run = Endurance::of(&lab, &asked, subjects, extent)?;
    run.run().await?;
    assert_eq!(run.answered(), (2 * requests, 2 * requests));
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
    finds_the_leak(Profile::Check, small(12_000)).await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: builds releases"]
async fn a_release_with_a_leak_is_found_within_200_000_requests() -> anyhow::Result<()> {
    let extent = Extent {
        requests: 200_000,
        chunks: Chunks::of_the_course()?,
    };
    finds_the_leak(Profile::Measure, extent).await
}

/// Four thousand requests to the reference alone, in forty chunks of which the first three were answered. The test ends it.
async fn after_three_chunks<'a>(
    lab: &'a Lab<'a>,
    asked: &'a Asked,
    subjects: Vec<Subject>,
) -> anyhow::Result<Endurance<'a>> {
    let mut run = Endurance::of(lab, asked, subjects, small(4_000))?;
    run.start().await?;
    for number in 1..=3 {
        run.round(number).await;
    }
    assert_eq!(run.answered(), (300, 4_000));
    Ok(run)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_stopped_says_how_far_it_came_and_leaves_no_process() -> anyhow::Result<()> {
    let _turn = ONE_AT_A_TIME.lock().await;
    let workspace = Workspace::find()?;
    let lab = lab(&workspace).await?;
    let subjects = vec![reference(&lab, Profile::Check).await?];
    let asked = endurance::asked(&lab, &subjects)?;
    let mut run = after_three_chunks(&lab, &asked, subjects).await?;
    let stopped = tokio::time::timeout(Duration::from_millis(5), run.round(4)).await;
    stopped.expect_err("a chunk under way");
    let result = run.finish().await?;
    assert_eq!(services(), Vec::<u32>::new());
    let said = result.notes.join("\n");
    assert!(
        said.contains("was stopped after 300 of 4\u{202f}000"),
        "{said}"
    );
    let row = row(&result, &REFERENCE.to_string());
    assert_eq!(row[REQUESTS], Cell::Count(300));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_dies_ends_the_run_with_the_reason() -> anyhow::Result<()> {
    let _turn = ONE_AT_A_TIME.lock().await;
    let workspace = Workspace::find()?;
    let lab = lab(&workspace).await?;
    let subjects = vec![reference(&lab, Profile::Check).await?];
    let asked = endurance::asked(&lab, &subjects)?;
    let mut run = after_three_chunks(&lab, &asked, subjects).await?;
    for pid in services() {
        kill(Pid::from_raw(pid.cast_signed()), Signal::SIGKILL)?;
    }
    let killed = Instant::now();
    run.round(4).await;
    assert!(killed.elapsed() < Duration::from_secs(20), "noticed late");
    let result = run.finish().await?;
    let said = result.invalid.join("\n");
    assert!(
        said.starts_with("solution-11: the service ended under load (signal: 9"),
        "{said}"
    );
    let row = row(&result, &REFERENCE.to_string());
    assert_eq!(row[VERDICT], Cell::text("invalid"));
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
