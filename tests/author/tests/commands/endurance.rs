//! Memory over a hundred thousand QR codes, for each tier of the ladder: what leaks a little with every call is seen here and
//! nowhere else. It takes minutes, so it runs only when it is asked for:
//! `cargo test --package workshop-author --test commands -- --ignored endurance:: --nocapture`, with `solution_17` at the end for one tier.

use std::time::Duration;

use anyhow::Context;
use tokio::sync::Mutex;
use workshop_base::exercise::Catalogue;
use workshop_base::process;
use workshop_base::target::Target;
use workshop_base::workspace::Workspace;
use workshop_harness::build::{self, Profile};
use workshop_harness::service::{Service, Settings};
use workshop_measure::protocol::session;
use workshop_measure::tools::oha::{Call, Load, Oha, Order};
use workshop_postgres::Server;
use workshop_postgres::datasets::RunDatabase;
use workshop_tasks::codes;

/// After so many calls everything is compiled, and every pool and cache has its size.
const WARM: u64 = 10_000;
/// What a leak has had time to show in.
const MANY: u64 = 100_000;
/// How much larger a service may be then: a page table here, a compiled method there.
const TOLERATED: f64 = 1.1;
/// The JVM takes a small heap at once, since how much of it holds objects is policy. What leaks beside the heap then shows in
/// the size; what leaks into it, a kilobyte a call, ends in an `OutOfMemoryError` and a status that the gate refuses.
const SMALL_HEAP: &str = "-Xms64m -Xmx64m -XX:+AlwaysPreTouch -XX:+UseSerialGC";
/// How long oha runs between two looks at the number of calls.
const STRETCH: Duration = Duration::from_secs(4);

/// The Kotlin service alone, and each reference of the ladder.
const TIERS: [Target; 5] = [
    Target::Kotlin,
    Target::Solution(17),
    Target::Solution(18),
    Target::Solution(19),
    Target::Solution(20),
];

/// Two tiers at once would share the cores, and print over each other.
static ONE_AT_A_TIME: Mutex<()> = Mutex::const_new(());

#[test]
fn every_reference_of_the_ladder_is_a_tier() -> anyhow::Result<()> {
    let catalogue = Catalogue::read(&Workspace::find()?)?;
    for exercise in catalogue.iter().filter(|step| step.part == "ladder") {
        let reference = Target::Solution(exercise.number);
        assert!(TIERS.contains(&reference), "{reference} is not in TIERS");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes a minute"]
async fn kotlin_alone_does_not_grow() -> anyhow::Result<()> {
    does_not_grow(TIERS[0]).await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes five minutes"]
async fn solution_9_does_not_grow() -> anyhow::Result<()> {
    does_not_grow(TIERS[1]).await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes three minutes"]
async fn solution_10_does_not_grow() -> anyhow::Result<()> {
    does_not_grow(TIERS[2]).await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes a minute"]
async fn solution_11_does_not_grow() -> anyhow::Result<()> {
    does_not_grow(TIERS[3]).await
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes a minute"]
async fn solution_12_does_not_grow() -> anyhow::Result<()> {
    does_not_grow(TIERS[4]).await
}

/// Memory after 100 000 codes is what it was after 10 000; prints a line of the table of tiers.
async fn does_not_grow(target: Target) -> anyhow::Result<()> {
    let _turn = ONE_AT_A_TIME.lock().await;
    let workspace = Workspace::find()?;
    let server = Server::ensure(&workspace).await?;
    let database = RunDatabase::create(&server).await?;
    let sizes = sizes(&workspace, target, database.url()).await;
    database.remove().await?;
    let (warm, later) = sizes?;
    let growth = later as f64 / warm as f64;
    let name = target.to_string();
    println!(
        "{name:12} {warm:>8} kB after {WARM} codes {later:>8} kB after {MANY}, {growth:.3} times"
    );
    assert!(
        growth <= TOLERATED,
        "{target} grew from {warm} kB to {later} kB"
    );
    Ok(())
}

/// What a service and its children hold in memory when it is warm, and much later, in kB.
async fn sizes(
    workspace: &Workspace,
    target: Target,
    database_url: &str,
) -> anyhow::Result<(u64, u64)> {
    let mut launch = build::build(workspace, target, Profile::Measure).await?;
    let heap = ("JDK_JAVA_OPTIONS".to_owned(), SMALL_HEAP.to_owned());
    launch.env.push(heap);
    let service = Service::start(workspace, &launch, &Settings::new(database_url)).await?;
    let mut answers = 0;
    let warm = size_after(workspace, &service, WARM, &mut answers).await?;
    let later = size_after(workspace, &service, MANY, &mut answers).await?;
    service.stop().await;
    Ok((warm, later))
}

async fn size_after(
    workspace: &Workspace,
    service: &Service,
    codes: u64,
    answers: &mut u64,
) -> anyhow::Result<u64> {
    let oha = Oha::find(workspace)?;
    let order = Order {
        url: format!("{}{}", service.base_url(), codes::path(32)),
        header: session::header(""),
        call: Call::default(),
        connections: 32,
        duration: STRETCH,
        load: Load::Closed,
    };
    while *answers < codes {
        let run = oha.run(&order).await?;
        run.gate(&order).map_err(anyhow::Error::msg)?;
        *answers += run.answers;
    }
    process::tree_pss_kb(&service.pids()).context("the memory of the service cannot be read")
}
