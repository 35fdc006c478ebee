//! Two services that are told to stop, watched: one with spans that are not sent yet, and one whose collector takes nothing.

use std::time::Duration;

use tokio::time::Instant;

use super::shutdown::End;
use super::silence::{lock_the_records, wait_for_waiting};
use super::stage::{self, database_trouble};
use super::{Context, Place, Played, Scenario, When, judge_all};
use crate::scenarios::ContractTest;
use crate::service::collector::{Collector, Manners};
use crate::service::otlp::Span;
use crate::service::{Settings, TelemetrySettings};
use workshop_requests::failure::Failure;
use workshop_requests::http::Answer;

pub use super::judged as test;

/// `DATABASE_TIMEOUT_MS`: much longer than requests are held.
const TIMEOUT: Duration = Duration::from_secs(1);
/// No span is sent because its time has come, and no export ends by itself.
const LATER: Duration = Duration::from_mins(1);
/// The maximum time for a service without requests to end: the time of its framework, and two seconds for the last exports.
const LIMIT: Duration = Duration::from_secs(6);
/// Reads before the end.
pub const READS: u16 = 40;

pub static SCENARIO: Scenario = Scenario {
    of_the_contract: true,
    ..Scenario::new("seen_last", When::Waiting, 5, |place, tests| {
        Box::pin(play(place, tests))
    })
};

/// The observations of both.
#[derive(Debug)]
pub struct Last {
    /// The answers to the requests that were under way when the service was told to stop.
    pub held: Vec<Result<Answer, Failure>>,
    /// The spans that have arrived at the end.
    pub spans: Vec<Span>,
    pub end: End,
    /// The end of the other service.
    pub unheard: End,
}

async fn play(place: &Place<'_>, tests: &[&ContractTest]) -> anyhow::Result<Played> {
    let (heard, unheard) = tokio::try_join!(Collector::start(), Collector::start())?;
    let (mut told, mut ignored) = tokio::try_join!(stage(place, &heard), stage(place, &unheard))?;
    let (seen, unheard) = tokio::join!(watch(&mut told), watch_unheard(&mut ignored, &unheard));
    let (held, end) = seen.map_err(|error| database_trouble(error.into()))?;
    let seen = Last {
        held,
        spans: heard.seen(|received| received.spans.clone()),
        end,
        unheard,
    };
    let log = format!("{}\n{}", told.log_tail(), ignored.log_tail());
    let statuses = judge_all(&seen, &log, tests).await?;
    let mut played = told.leaves_with(statuses);
    played
        .leaving
        .extend(ignored.leaves_with(Vec::new()).leaving);
    Ok(played)
}

async fn stage(place: &Place<'_>, collector: &Collector) -> anyhow::Result<Context> {
    let settings = Settings {
        telemetry: Some(TelemetrySettings {
            delay: LATER,
            timeout: LATER,
            // A library that logs more doesn't change the spans.
            lines: Some("warn,sqlx=debug".to_owned()),
            ..TelemetrySettings::new(collector.url())
        }),
        ..stage::settings(TIMEOUT)
    };
    place.stage_with(settings).await
}

/// Reads, and tells the service to stop while the database keeps some reads waiting.
async fn watch(stage: &mut Context) -> sqlx::Result<(Vec<Result<Answer, Failure>>, End)> {
    let paths: Vec<String> = (1..=READS).map(|id| format!("/read/{id}")).collect();
    for path in &paths {
        let _ = stage.client.get(path).await;
    }
    let pool_size = stage.pool_size();
    let mut database = stage.database.lock().await;
    let mut lock = lock_the_records(&mut database).await?;
    let (held, told) = tokio::join!(stage.client.get_all(&paths[..pool_size]), async {
        let waiting = wait_for_waiting(&mut lock, pool_size as i64..).await;
        let asked = Instant::now();
        stage.service.ask_to_stop();
        let released = lock.rollback().await;
        waiting.and(released).map(|()| asked)
    });
    let asked = told?;
    drop(database);
    Ok((held, End::within(LIMIT, &mut stage.service, asked).await))
}

/// Tells a service to stop that still has spans to send, to a collector that takes none.
async fn watch_unheard(stage: &mut Context, collector: &Collector) -> End {
    collector.behave(Manners::Hangs);
    let paths: Vec<String> = (1..=READS).map(|id| format!("/read/{id}")).collect();
    let _ = stage.client.get_all(&paths).await;
    let asked = Instant::now();
    stage.service.ask_to_stop();
    End::within(LIMIT, &mut stage.service, asked).await
}
