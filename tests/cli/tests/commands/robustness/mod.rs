//! Robustness: the Kotlin service and the newest reference have to bear whatever comes over the network, and to answer it
//! alike.

mod clients;
mod contract;
mod generated;
mod generator;
mod ingredients;
mod judge;
mod request;
mod site;
mod stopping;
mod wire;

use anyhow::Context;
use tokio::sync::Mutex;
use workshop_base::target::Target;
use workshop_base::workspace::Workspace;

use generated::Trial;
use generator::Generator;
use site::{Site, newest_reference};

/// The requests that are generated.
const REQUESTS: usize = 10_000;
/// After so many everything is compiled, and every pool has its size.
const WARM: usize = 2_000;
/// How much larger a service may be at the end: what was compiled since then, and what an allocator keeps.
const GROWTH: f64 = 1.15;
/// The seed, unless `ROBUSTNESS_SEED` names another.
const SEED: u64 = 2026;

/// Services share the cores, and their clients share the file descriptors of this process: one test runs after the other.
static ONE_AT_A_TIME: Mutex<()> = Mutex::const_new(());

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_generated_requests_are_answered_alike() -> anyhow::Result<()> {
    let _turn = ONE_AT_A_TIME.lock().await;
    let seed = match std::env::var("ROBUSTNESS_SEED") {
        Ok(seed) => seed.parse().context("ROBUSTNESS_SEED is no number")?,
        Err(_) => SEED,
    };
    let workspace = Workspace::find()?;
    let operations = contract::read(&workspace)?;
    let reference = newest_reference(&workspace)?;
    let kotlin = Site::start(&workspace, Target::Kotlin, site::FEW_RECORDS).await?;
    let rust = Site::start(&workspace, reference, site::FEW_RECORDS).await?;
    let folder = workspace.state().join("robustness");

    let generator = Generator::new(&operations, seed);
    let mut trial = Trial::new([&kotlin, &rust], generator, &folder);
    trial.send_until(WARM).await?;
    let warm = trial.memory();
    trial.send_until(REQUESTS).await?;
    let later = trial.memory();
    trial.send_garbage().await?;
    let report = trial.into_report();
    println!("Kotlin and {reference}, ROBUSTNESS_SEED={seed}: {report}");
    println!("memory in kB after {WARM} requests: {warm:?}, after {REQUESTS}: {later:?}");

    for site in [&kotlin, &rust] {
        let health = site
            .client
            .get("/health")
            .await
            .map_err(anyhow::Error::msg)?;
        health.expect_status(200).map_err(anyhow::Error::msg)?;
    }
    kotlin.stop().await?;
    rust.stop().await?;
    anyhow::ensure!(
        report.complaints.is_empty(),
        "see above; the same again: ROBUSTNESS_SEED={seed}"
    );
    for (warm, later) in warm.into_iter().zip(later) {
        if let (Some(warm), Some(later)) = (warm, later) {
            let grown = later as f64 / warm as f64;
            anyhow::ensure!(grown <= GROWTH, "memory grew from {warm} kB to {later} kB");
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_and_idle_clients_hold_up_nobody_in_kotlin() -> anyhow::Result<()> {
    withstands_clients(Target::Kotlin).await
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_and_idle_clients_hold_up_nobody_in_the_reference() -> anyhow::Result<()> {
    withstands_clients(newest_reference(&Workspace::find()?)?).await
}

async fn withstands_clients(target: Target) -> anyhow::Result<()> {
    let _turn = ONE_AT_A_TIME.lock().await;
    let workspace = Workspace::find()?;
    let site = Site::start(&workspace, target, site::ADDED_RECORDS).await?;
    clients::read_slowly(&site).await.context("slow readers")?;
    clients::send_slowly(&site).await.context("slow senders")?;
    clients::stay_idle(&site).await.context("idle clients")?;
    site.stop().await
}

#[tokio::test(flavor = "multi_thread")]
async fn kotlin_loses_no_visit_when_it_is_told_to_stop_under_load() -> anyhow::Result<()> {
    stops_under_load(Target::Kotlin).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_reference_loses_no_visit_when_it_is_told_to_stop_under_load() -> anyhow::Result<()> {
    stops_under_load(newest_reference(&Workspace::find()?)?).await
}

async fn stops_under_load(target: Target) -> anyhow::Result<()> {
    let _turn = ONE_AT_A_TIME.lock().await;
    let workspace = Workspace::find()?;
    let mut site = Site::start(&workspace, target, site::NO_VISITS).await?;
    let stopped = stopping::visit_until_it_stops(&mut site).await;
    site.stop().await?;
    stopped
}
