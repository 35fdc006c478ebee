//! The stall (exercise 5): reads at a constant rate, well below saturation, while the database stands still for a second.
//!
//! Every request is recorded with the moments that it was due and sent, so one run gives the latency with and without the
//! correction for coordinated omission.

use std::collections::BTreeMap;
use std::time::Duration;

use workshop_harness::proxy::DatabaseProxy;
use workshop_harness::service::Service;
use workshop_measure::protocol::block::{Block, turns};
use workshop_measure::protocol::experiment::Found;
use workshop_measure::protocol::lab::Lab;
use workshop_measure::protocol::load::enough_answers;
use workshop_measure::protocol::metrics::of;
use workshop_measure::protocol::rows::Asked;
use workshop_measure::protocol::session::Session;
use workshop_measure::tables::{see_it_yourself, statuses};
use workshop_measure::tools::oha::{Load, Order};
use workshop_measure::tools::recording::RecordedRequest;
use workshop_results::figures::{figure, interval};
use workshop_results::file::{Better, BlockRecord, Comparison, ResultFile};
use workshop_results::key::{
    At, Key, P50_STALLED, P99_STALLED, P999_STALLED, SLOW, SLOWEST_STALLED, UNCORRECTED,
};
use workshop_results::metrics::{self, SLOW_MS};
use workshop_results::shown::{self, Chart, Column, Drawing, Panel, Table};
use workshop_results::statistics::quantile;

/// How long the database stands still.
const STALL: Duration = Duration::from_secs(1);
/// The services' `DATABASE_TIMEOUT_MS`: every request outlasts the stall, so each one is answered with its record and the
/// latency is of the same work with both ways of counting.
const TIMEOUT: Duration = Duration::from_secs(3);
/// Connections of the load: few enough that those which wait out the stall are less than one request in a hundred.
const CONNECTIONS: u32 = 16;
/// The length of a moment of the course.
const MOMENT: Duration = Duration::from_millis(100);
/// The latencies, with the share of requests that each is that of. They are not those of the reads, which nobody makes to wait for a
/// second.
const PERCENTILES: [(Key, f64); 4] = [
    (P50_STALLED, 0.5),
    (P99_STALLED, 0.99),
    (P999_STALLED, 0.999),
    (SLOWEST_STALLED, 1.0),
];

/// Measures a target beside Kotlin.
pub async fn measure(lab: &Lab<'_>, asked: &Asked) -> anyhow::Result<ResultFile> {
    let (mut session, subjects) = Session::begin(lab, asked, &asked.task).await?;
    println!(
        "the load:  {CONNECTIONS} connections at a constant rate, by oha with -q RATE --latency-correction; in the middle of each run,\n           the database stands still for {} s",
        STALL.as_secs()
    );
    let subjects = session.same_work(subjects).await?;

    // One proxy for all blocks: only one service runs at a time, and all of them go the same way.
    let proxy = DatabaseProxy::start(&lab.database_url).await?;
    session.database_url = proxy.url().to_owned();
    session.timeout = TIMEOUT;
    session.connections = CONNECTIONS;
    let path = session.records();
    let rates = session.find_rates(&subjects, &path).await?;
    let (percent, rate) = rates[0];
    let definitions = of("stall", [At::Rate(percent)])?;
    let mut stalls = Stalls {
        rate,
        seconds: session.plan.open,
        seen: BTreeMap::new(),
        command: String::new(),
    };
    let mut rounds = Vec::new();
    for turn in turns(&session.plan, &subjects) {
        let mut block = Block::start(&session, &turn).await?;
        let order = stalls.order(&session, &path, block.service());
        let keys: Vec<Key> = definitions.iter().map(|known| known.key.clone()).collect();
        if block.warm_up(&session, &order, keys.clone()).await? {
            let load = format!("open loop, {rate:.0} requests/s, and a stall");
            block.phase(&session, load);
            stalls
                .put_on(&session, &mut block, &order, &proxy, keys)
                .await?;
        }
        rounds.push(block.end(&mut session).await?);
    }
    session.notes.extend(notes_on(stalls.seconds));
    let found = session.judged(&definitions, &subjects, rounds, None);
    let found = Found { rates, ..found }.decided_by(&P99_STALLED, &subjects);
    let mut result = session.finish(&subjects, found).await?;
    result.tables.push(counted_twice(&result, &stalls));
    result.charts.push(over_time(&result, &stalls));
    Ok(result)
}

/// The stall begins as long after the run's beginning as it ends before its end.
fn begins(seconds: f64) -> Duration {
    Duration::from_secs_f64(seconds).saturating_sub(STALL) / 2
}

fn notes_on(seconds: f64) -> Vec<String> {
    vec![
        format!(
            "the database's traffic goes through a proxy on this machine; {} s into each run of {} s it holds everything back for {} s, and cuts nothing",
            begins(seconds).as_secs_f64(),
            seconds,
            STALL.as_secs()
        ),
        format!(
            "DATABASE_TIMEOUT_MS is {} here, so that every request outlasts the stall; with the default of 1000, some are answered 503",
            TIMEOUT.as_millis()
        ),
        "both ways of counting see the same requests: oha notes when each was due, sent and answered; corrected is from when it was due, uncorrected from when it was sent".to_owned(),
    ]
}

/// Runs at a constant rate, each with a stall in its middle, and what was seen of them.
struct Stalls {
    rate: f64,
    /// The length of each run.
    seconds: f64,
    /// What a side answered in the runs that count, and the course of one of them.
    seen: BTreeMap<String, (BTreeMap<String, u64>, StallCourse)>,
    command: String,
}

/// The slowest request of each moment, by both ways of counting; none where there was no request.
type StallCourse = [Vec<Option<f64>>; 2];

impl Stalls {
    fn order(&self, session: &Session<'_>, path: &str, service: &Service) -> Order {
        let length = Duration::from_secs_f64(self.seconds);
        Order {
            connections: CONNECTIONS,
            ..session.order(path, service, length, Load::Recorded(self.rate))
        }
    }

    /// One run on a warm service.
    async fn put_on(
        &mut self,
        session: &Session<'_>,
        block: &mut Block<'_>,
        order: &Order,
        proxy: &DatabaseProxy,
        keys: Vec<Key>,
    ) -> anyhow::Result<()> {
        let (recorded, ()) = tokio::join!(
            session.oha.record(order),
            hold_back(proxy, begins(self.seconds))
        );
        let (run, requests) = recorded?;
        self.command = order
            .typed()
            .replace(block.service().base_url(), "http://127.0.0.1:PORT");
        if let Err(reason) = run.gate(order) {
            block.observed.invalid(keys, &reason);
            return Ok(());
        }
        block.observed.values.extend(values(&requests));
        if let Err(reason) = enough_answers(run.answers, "p99") {
            let both = [P99_STALLED, P99_STALLED.at(UNCORRECTED)];
            block.observed.invalid(both, &reason);
        }
        let side = block.subject().id().to_owned();
        let (statuses, seen) = self.seen.entry(side).or_default();
        for (status, count) in run.statuses {
            *statuses.entry(status).or_default() += count;
        }
        *seen = course(&requests, order.duration);
        Ok(())
    }

    /// The sides of a result with what they answered, and their courses.
    fn seen<'s>(
        &'s self,
        result: &'s ResultFile,
    ) -> impl Iterator<Item = (&'s str, &'s (BTreeMap<String, u64>, StallCourse))> {
        let sides = result.sides.iter();
        sides.filter_map(|side| Some((side.id.as_str(), self.seen.get(&side.id)?)))
    }
}

async fn hold_back(proxy: &DatabaseProxy, begins: Duration) {
    tokio::time::sleep(begins).await;
    proxy.stall();
    tokio::time::sleep(STALL).await;
    proxy.resume();
}

/// A way of counting.
type Latency = fn(&RecordedRequest) -> f64;

/// The metrics of a recording, by both ways of counting.
fn values(requests: &[RecordedRequest]) -> Vec<(Key, f64)> {
    let mut values = Vec::new();
    let ways: [(Option<At>, Latency); 2] = [
        (None, RecordedRequest::corrected_ms),
        (Some(UNCORRECTED), RecordedRequest::uncorrected_ms),
    ];
    for (way, latency) in ways {
        let mut latencies: Vec<f64> = requests.iter().map(latency).collect();
        latencies.sort_by(f64::total_cmp);
        for (key, share) in PERCENTILES {
            values.extend(quantile(&latencies, share).map(|value| (key.at(way), value)));
        }
        let slow = latencies
            .iter()
            .filter(|latency| **latency > SLOW_MS)
            .count();
        let share = slow as f64 / latencies.len().max(1) as f64;
        values.push((SLOW.at(way), share * 100.0));
    }
    values
}

/// The slowest request of each moment, by both ways of counting.
fn course(requests: &[RecordedRequest], length: Duration) -> StallCourse {
    let moments = (length.as_secs_f64() / MOMENT.as_secs_f64()).round() as usize;
    let slowest = |when: fn(&RecordedRequest) -> f64, latency: Latency| {
        let mut slowest: Vec<Option<f64>> = vec![None; moments];
        for request in requests {
            // The last requests are due at the very end.
            let moment = (when(request) / MOMENT.as_secs_f64()) as usize;
            let slot = &mut slowest[moment.min(moments - 1)];
            *slot = Some(slot.unwrap_or_default().max(hundredths(latency(request))));
        }
        slowest
    };
    [
        slowest(|request| request.sent_s, RecordedRequest::uncorrected_ms),
        slowest(|request| request.due_s, RecordedRequest::corrected_ms),
    ]
}

/// A chart needs no more.
fn hundredths(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

/// How much the correction makes of a side's p99, over the blocks that count.
fn corrected_against_uncorrected(blocks: &[BlockRecord], side: &str) -> Comparison {
    let uncorrected = P99_STALLED.at(UNCORRECTED);
    let ratios: Vec<f64> = blocks
        .iter()
        .filter(|block| block.side == side)
        .filter_map(|block| Some(block.values.get(&P99_STALLED)? / block.values.get(&uncorrected)?))
        .collect();
    metrics::compared("corrected", "uncorrected", &ratios, Better::Lower)
}

/// The percentiles by both ways of counting, side by side.
fn counted_twice(result: &ResultFile, stalls: &Stalls) -> Table {
    let ways = ["from sent", "from due"];
    let columns = stalls.seen(result);
    let columns = columns.flat_map(|(side, _)| Column::grouped(&result.heading(side), ways));
    let title = format!(
        "A stall of {} s: the same requests counted from when they were sent and from when they were due",
        figure(STALL.as_secs_f64())
    );
    let mut table = Table::new("counted-twice", title, columns.collect());
    for metric in &result.metrics {
        let Some(uncorrected) = result.metric(&metric.key.at(UNCORRECTED)) else {
            continue;
        };
        let of_side = |side: &str| [uncorrected, metric].map(|of| of.value(side).into());
        let cells = stalls.seen(result).flat_map(|(side, _)| of_side(side));
        table.row(metric.heading(), cells.collect());
    }
    let findings = stalls.seen(result);
    table.notes = findings
        .map(|(side, _)| {
            finding(
                &result.heading(side),
                &corrected_against_uncorrected(&result.blocks, side),
            )
        })
        .collect();
    let answers = stalls.seen(result).map(|(side, (counts, _))| {
        let label = result.heading(side);
        format!("{label}, answers by status: {}", statuses(counts))
    });
    table.notes.extend(answers);
    table.notes.push(see_it_yourself(&stalls.command));
    table
}

/// What the correction makes of a side's p99.
fn finding(label: &str, p99: &Comparison) -> String {
    match p99.ratio.zip(interval(p99.low, p99.high)) {
        Some((ratio, interval)) => format!(
            "{label}: the corrected p99 is {} times the uncorrected one of the same runs (95 % interval {interval})",
            figure(ratio)
        ),
        None => format!(
            "{label}: no ratio of the two p99: {}",
            p99.reason.as_deref().unwrap_or("unknown")
        ),
    }
}

/// One run of each side over time, a panel for each way of counting.
fn over_time(result: &ResultFile, stalls: &Stalls) -> Chart {
    let panels = stalls.seen(result).flat_map(|(side, (_, course))| {
        let label = result.heading(side);
        let ways = [("sent", true), ("due", false)].into_iter();
        ways.zip(course).map(move |((when, faint), moments)| Panel {
            name: format!("{label}, from when it was {when}"),
            faint,
            moments: moments.clone(),
        })
    });
    let began_s = begins(stalls.seconds).as_secs_f64();
    Chart {
        id: "course".to_owned(),
        title: format!(
            "The slowest request of each {} ms in one run at {} requests per second. The database stands still in the gray stretch. Where there is no bar, no request was sent.",
            figure(MOMENT.as_secs_f64() * 1e3),
            figure(stalls.rate)
        ),
        drawing: Drawing::Course(shown::Course {
            seconds: stalls.seconds,
            band: (began_s, began_s + STALL.as_secs_f64()),
            panels: panels.collect(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use workshop_results::file::Verdict;

    /// A thousand requests a second for eight seconds, each answered in a millisecond, but for a database that stands still
    /// from second 3.5 to second 4.5: 32 connections wait, and the rest is sent when it is over.
    fn stalled_run() -> Vec<RecordedRequest> {
        (0..8000)
            .map(|number| {
                let due_s = f64::from(number) / 1000.0;
                let held = (3.5..4.5).contains(&due_s);
                let waits_at_the_database = held && due_s < 3.532;
                let sent_s = if held && !waits_at_the_database {
                    4.5
                } else {
                    due_s
                };
                let answered_s = if held { 4.501 } else { due_s + 0.001 };
                RecordedRequest {
                    due_s,
                    sent_s,
                    answered_s,
                    status: 200,
                }
            })
            .collect()
    }

    fn value(key: &Key) -> f64 {
        let values: BTreeMap<Key, f64> = values(&stalled_run()).into_iter().collect();
        values[key]
    }

    #[test]
    fn the_same_requests_have_a_p99_of_a_second_or_of_a_millisecond() {
        let (p99, uncorrected) = (value(&P99_STALLED), value(&P99_STALLED.at(UNCORRECTED)));
        assert!(p99 > 900.0 && uncorrected < 2.0, "{p99} {uncorrected}");
        let slowest = value(&P999_STALLED.at(UNCORRECTED));
        assert!(slowest > 900.0, "32 of 8000 did wait");
        assert!((value(&SLOW) - 11.25).abs() < 0.1, "{}", value(&SLOW));
        assert!((value(&SLOW.at(UNCORRECTED)) - 0.4).abs() < 0.01);
    }

    #[test]
    fn in_the_stall_nothing_is_sent_but_much_is_due() {
        let [sent, due] = course(&stalled_run(), Duration::from_secs(8));
        assert_eq!(due.len(), 80);
        assert!(sent[35].is_some_and(|slowest| slowest > 990.0));
        assert_eq!(sent[40], None);
        assert!(due[40].is_some_and(|slowest| slowest > 450.0));
        assert_eq!(due[10], Some(1.0));
    }

    #[test]
    fn every_value_has_its_definition() {
        let mut defined: Vec<Key> = of("stall", [At::Rate(30)])
            .unwrap()
            .into_iter()
            .map(|definition| definition.key)
            .collect();
        let mut valued: Vec<Key> = values(&stalled_run())
            .into_iter()
            .map(|(key, _)| key)
            .collect();
        for keys in [&mut defined, &mut valued] {
            keys.sort();
        }
        assert_eq!(defined, valued);
    }

    #[test]
    fn the_correction_is_a_ratio_over_the_blocks_of_one_side() {
        let block = |round, side: &str, p99, uncorrected| BlockRecord {
            round,
            place: round,
            side: side.to_owned(),
            values: [
                (P99_STALLED, p99),
                (P99_STALLED.at(UNCORRECTED), uncorrected),
            ]
            .into(),
            invalid: BTreeMap::new(),
        };
        let blocks = [
            block(1, "kotlin", 900.0, 3.0),
            block(1, "rust", 900.0, 1.0),
            block(2, "kotlin", 930.0, 3.1),
        ];
        let comparison = corrected_against_uncorrected(&blocks, "kotlin");
        assert!((comparison.ratio.unwrap_or_default() - 300.0).abs() < 1e-6);
        assert_eq!(
            (comparison.rounds, comparison.verdict),
            (2, Verdict::Slower)
        );
        let one = corrected_against_uncorrected(&blocks, "rust");
        assert_eq!(one.verdict, Verdict::Invalid);
    }
}
