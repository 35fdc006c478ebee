//! A service with a service of prices. The tests run one after the other on it, each with an upstream that is healthy at
//! its beginning.

use std::any::Any;
use std::time::Duration;

use anyhow::Context as _;

use super::outage::ask_until;
use super::{Context, Judging, Scenario, When, asked, stage};
use crate::service::upstream::{Conduct, Upstream};
use crate::service::{PriceSettings, Settings};
use workshop_requests::failure::{Failure, TestResult};
use workshop_requests::http::Answer;

/// `DATABASE_TIMEOUT_MS`: longer than a request with a price may take.
const DATABASE_TIMEOUT: Duration = Duration::from_secs(4);
/// `UPSTREAM_LIMIT`: more calls than there are connections to the database.
pub const LIMIT: u16 = 6;
/// `UPSTREAM_WAIT_MS`, the shortest that the contract allows.
const WAIT: Duration = Duration::from_millis(250);
/// `UPSTREAM_TIMEOUT_MS`: tests wait for it, and it is long enough for calls to gather.
pub const TIMEOUT: Duration = Duration::from_millis(1500);
const DEADLINE: Duration = Duration::from_secs(2);

pub static SCENARIO: Scenario = Scenario::new("supplied", When::Waiting, 6, |place, tests| {
    Box::pin(async move {
        let upstream = Upstream::start(Conduct::WELL).await?;
        let prices = PriceSettings {
            limit: LIMIT,
            wait: WAIT,
            timeout: TIMEOUT,
            deadline: DEADLINE,
            ..PriceSettings::new(upstream.url())
        };
        let settings = Settings {
            prices: Some(prices),
            ..stage::settings(DATABASE_TIMEOUT)
        };
        let mut stage = place.stage_with(settings).await?;
        stage.upstream = Some(upstream);
        // A cold JVM may need longer for its first call than a call may take. The tests will see the answer.
        let is_late = |answer: &Answer| [503, 504].contains(&answer.status());
        let in_time = |answer: &Result<Answer, Failure>| !answer.as_ref().is_ok_and(is_late);
        let _ = ask_until(&stage.client, "/price/1", in_time).await;
        stage.ask(tests).await
    })
});

/// Runs a test that sends requests to the service, and controls the upstream.
pub fn test<'a, F>(
    scene: &'a dyn Any,
    test: impl FnOnce(&'a Context, &'a Upstream) -> F + 'a,
) -> Judging<'a>
where
    F: Future<Output = TestResult> + 'a,
{
    asked(scene, async move |context: &'a Context| {
        let upstream = context.upstream.as_ref();
        let upstream = upstream.context("a test of another scenario")?;
        upstream.conduct(Conduct::WELL);
        test(context, upstream).await
    })
}
