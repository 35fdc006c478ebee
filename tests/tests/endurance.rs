//! Memory over a hundred thousand QR codes, for the Kotlin service and each reference that draws for it: what leaks a little
//! with every call is seen here and nowhere else. It takes minutes, so it runs only when it is asked for:
//! `cargo test --package workshop --test endurance -- --ignored --nocapture`.

use std::time::Duration;

use anyhow::Context;
use workshop::datasets::{DataSet, RunDatabase};
use workshop::exercise::{Catalogue, Part};
use workshop::harness::build::{self, Profile};
use workshop::harness::service::{Service, Settings};
use workshop::measure::oha::{Load, Oha, Order};
use workshop::measure::{process, qrcode};
use workshop::postgres::Server;
use workshop::target::Target;
use workshop::workspace::Workspace;

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

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes"]
async fn memory_after_100_000_codes_is_what_it_was_after_10_000() -> anyhow::Result<()> {
    let workspace = Workspace::find()?;
    let catalogue = Catalogue::read(&workspace)?;
    let server = Server::ensure(&workspace).await?;
    let database = RunDatabase::create(&server, &workspace, DataSet::Small).await?;
    let ladder = catalogue.iter().filter(|step| step.part == Part::Ladder);
    let references = ladder.map(|exercise| Target::Solution(exercise.number));
    let mut grown = Vec::new();
    for target in std::iter::once(Target::Kotlin).chain(references) {
        let (warm, later) = sizes(&workspace, target, database.url()).await?;
        println!("{target}: {warm} kB after {WARM} codes, {later} kB after {MANY}");
        if later as f64 > warm as f64 * TOLERATED {
            grown.push(format!("{target} from {warm} kB to {later} kB"));
        }
    }
    database.remove().await?;
    assert!(grown.is_empty(), "memory grew: {}", grown.join(", "));
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
    let service = Service::start(workspace, &launch, &Settings::new(database_url))
        .await
        .map_err(|error| error.into_trouble())?;
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
        url: format!("{}{}", service.base_url(), qrcode::path(32)),
        key: String::new(),
        connections: 32,
        duration: STRETCH,
        load: Load::Closed,
    };
    while *answers < codes {
        let run = oha.run(&order).await?;
        run.gate(&order).map_err(anyhow::Error::msg)?;
        *answers += run.answers;
    }
    process::tree_pss_kb(service.pid()).context("the memory of the service cannot be read")
}
