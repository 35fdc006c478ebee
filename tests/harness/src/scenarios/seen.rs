//! A service that sends everything to a collector: all traces, and a log line for each request. The tests run one after the
//! other on it, each with a collector that takes everything and has forgotten what came before.

use std::any::Any;
use std::time::Duration;

use anyhow::Context as _;

use super::{Context, Judging, Place, Played, Scenario, When, asked, stage};
use crate::scenarios::ContractTest;
use crate::service::collector::{Collector, Manners, Received};
use crate::service::otlp::Kind;
use crate::service::upstream::{Conduct, Upstream};
use crate::service::{PriceSettings, Settings, TelemetrySettings};
use workshop_requests::failure::TestResult;

/// `DATABASE_TIMEOUT_MS`: longer than tests keep a table locked.
const DATABASE_TIMEOUT: Duration = Duration::from_secs(4);
/// The maximum time for the first spans: a JVM first loads classes for a second.
const FIRST_SPANS: Duration = Duration::from_secs(4);
/// The number of requests before the tests, and the trace that they are part of.
const FIRST: usize = 2;
const KEPT: &str = "00-00000000000000000000000000000001-0000000000000001-01";
/// `UPSTREAM_LIMIT`: several times the connections to the database.
pub const CALLS: u16 = 16;

pub static SCENARIO: Scenario = Scenario {
    of_the_contract: true,
    ..Scenario::new("seen", When::Waiting, 12, |place, tests| {
        Box::pin(play(place, tests, "info", 100))
    })
};

/// Plays a service that writes these lines, and keeps this percentage of its traces.
pub(super) async fn play(
    place: &Place<'_>,
    tests: &[&ContractTest],
    log_level: &str,
    percent: u8,
) -> anyhow::Result<Played> {
    let (upstream, collector) =
        tokio::try_join!(Upstream::start(Conduct::WELL), Collector::start())?;
    let settings = Settings {
        log_level: log_level.to_owned(),
        prices: Some(PriceSettings {
            limit: CALLS,
            ..PriceSettings::new(upstream.url())
        }),
        telemetry: Some(TelemetrySettings {
            percent,
            ..TelemetrySettings::new(collector.url())
        }),
        ..stage::settings(DATABASE_TIMEOUT)
    };
    let mut stage = place.stage_with(settings).await?;
    // Twice, since the first of all may be late, and no test is about that. A caller that keeps its trace has it kept whatever the share.
    let client = stage.client.with("traceparent", Some(KEPT));
    for _ in 0..FIRST {
        let _ = client.get("/price/1").await;
    }
    let requests = |received: &Received| {
        let spans = received.spans.iter();
        spans.filter(|span| span.kind == Kind::Server).count()
    };
    collector
        .until(FIRST_SPANS, |received| requests(received) >= FIRST)
        .await;
    stage.upstream = Some(upstream);
    stage.collector = Some(collector);
    stage.ask(tests).await
}

/// Runs a test that sends requests to the service, and reads what the collector gets.
pub fn test<'a, F>(
    scene: &'a dyn Any,
    test: impl FnOnce(&'a Context, &'a Upstream, &'a Collector) -> F + 'a,
) -> Judging<'a>
where
    F: Future<Output = TestResult> + 'a,
{
    asked(scene, async move |context: &'a Context| {
        let upstream = context.upstream.as_ref().context("no upstream")?;
        let collector = context.collector.as_ref().context("no collector")?;
        upstream.conduct(Conduct::WELL);
        collector.behave(Manners::Takes);
        collector.come_back().await;
        collector.forget();
        let result = test(context, upstream, collector).await;
        // A request left hanging by a test would hold up the next test.
        upstream.conduct(Conduct::WELL);
        collector.behave(Manners::Takes);
        result
    })
}
