//! The right size of a JVM's heap: the smallest that keeps the latency goal at a rate that the default heap carries easily.

use std::time::Duration;

use crate::kotlin_rows::heap_flags;
use workshop_base::outcome::Trouble;
use workshop_base::target::Language;
use workshop_measure::protocol::block::start;
use workshop_measure::protocol::plan;
use workshop_measure::protocol::session::Session;
use workshop_measure::protocol::subject::{Subject, with_flags};
use workshop_measure::protocol::warmup;
use workshop_measure::tools::oha::Load;
use workshop_results::figures::figure;
use workshop_results::file::Mode;
use workshop_results::shown::{Cell, Column, Table};

/// The rate of the trials, as a share of what the default heap does at most.
const RATE: f64 = 0.6;
/// How far the p99 may rise above that with the default heap: further than noise, and no further than a caller bears.
const GOAL: f64 = 2.0;
/// How long a trial is under its load.
const TRIAL: Duration = Duration::from_secs(3);
/// A JVM that has not answered by then has hardly any heap left to work with.
const START: Duration = Duration::from_secs(20);

/// What was found.
pub struct FoundHeap {
    /// The heaps that were tried, in the order of the trials.
    pub trials: Table,
    /// The smallest that kept to the goal, in MB; none when not even the largest did.
    pub chosen_mb: Option<u32>,
    /// What the service does at most by the last window of a warm-up, in requests per second: the lesser of the default heap
    /// and the chosen one.
    pub saturation: f64,
}

/// Searches the heap for the service.
pub async fn search(
    session: &Session<'_>,
    shipped: &Subject,
    mode: Mode,
) -> anyhow::Result<FoundHeap> {
    session.progress.part("kotlin: finding its saturation");
    let usual = trial(session, shipped, None).await?.map_err(|reason| {
        Trouble::new(format!("kotlin cannot be measured: {reason}"))
            .expected("status 200 for every record")
            .next("just check kotlin")
            .failed()
    })?;
    let rate = (usual.saturation * RATE).round();
    let goal_p99_ms = usual.p99_ms * GOAL;
    let sizes: Vec<u32> = plan::extent("heap", mode)?;
    let title = format!(
        "The heap: at {} requests/s the default one has a p99 of {} ms; a smaller one may have {} ms",
        figure(rate),
        figure(usual.p99_ms),
        figure(goal_p99_ms)
    );
    let mut trials = Table::new("heap", title, Column::list(["p99 (ms)", "Verdict"]));
    trials.corner = "Tried (MB)".to_owned();
    let mut chosen: Option<(u32, f64)> = None;
    // The sizes below `low` are too small, those from `high` on are large enough or were not tried.
    let (mut low, mut high) = (0, sizes.len());
    while low < high {
        let middle = usize::midpoint(low, high);
        let megabytes = sizes[middle];
        session
            .progress
            .part(&format!("kotlin: does a heap of {megabytes} MB do?"));
        let mut subject = shipped.clone();
        subject.launch = with_flags(&shipped.launch, &heap_flags(Some(megabytes)));
        subject.launch.limits.start = START;
        let tried = trial(session, &subject, Some(rate)).await?;
        let refused = refused(&tried, goal_p99_ms);
        match &tried {
            Ok(tried) if refused.is_none() => {
                chosen = Some((megabytes, tried.saturation));
                high = middle;
            }
            _ => low = middle + 1,
        }
        let verdict = refused.map_or_else(
            || "large enough".to_owned(),
            |reason| format!("too small: {reason}"),
        );
        let p99_ms = tried.ok().map(|tried| tried.p99_ms);
        trials.row(
            megabytes.to_string(),
            vec![p99_ms.into(), Cell::Text(verdict)],
        );
    }
    trials.notes.push(match chosen {
        None => "none of them keeps to it, so the default stays".to_owned(),
        Some((megabytes, _)) => format!(
            "the right-sized rows have {megabytes} MB, the smallest that was tried and keeps to it"
        ),
    });
    let least = chosen.map_or(usual.saturation, |(_, saturation)| saturation);
    Ok(FoundHeap {
        trials,
        chosen_mb: chosen.map(|(megabytes, _)| megabytes),
        saturation: least.min(usual.saturation),
    })
}

/// What a trial found.
#[derive(Debug, Clone, Copy, PartialEq)]
struct HeapTrial {
    saturation: f64,
    p99_ms: f64,
}

/// Why a heap is too small.
fn refused(tried: &Result<HeapTrial, String>, goal_p99_ms: f64) -> Option<String> {
    match tried {
        Err(reason) => Some(reason.clone()),
        Ok(tried) if tried.p99_ms > goal_p99_ms => {
            Some(format!("a p99 of {} ms", figure(tried.p99_ms)))
        }
        Ok(_) => None,
    }
}

/// Starts a service, warms it up, and puts this rate on it, or the trials' share of its own saturation. The inner error
/// is the reason why it does not stand that.
async fn trial(
    session: &Session<'_>,
    subject: &Subject,
    rate: Option<f64>,
) -> anyhow::Result<Result<HeapTrial, String>> {
    let started = match start(session, subject).await {
        Ok(started) => started,
        Err(_) => return Ok(Err("it did not start".to_owned())),
    };
    let limits = session.plan.warm_up_of(Language::Kotlin);
    let path = session.records();
    let order_for = |length, load| session.order(&path, &started.service, length, load);
    let order = order_for(limits.window, Load::Closed);
    let pids = started.service.pids();
    let warmed_up = warmup::run(&session.oha, &order, &pids, &limits).await?;
    let tried = match warmed_up {
        Err(reason) => Err(reason),
        Ok(warmed_up) => {
            let rate = rate.unwrap_or((warmed_up.last_rate * RATE).round());
            let order = order_for(TRIAL, Load::Open(rate));
            let run = session.oha.run(&order).await?;
            let p99_ms = run.p99_ms.ok_or_else(|| "it has no p99".to_owned());
            run.gate(&order).and(p99_ms).map(|p99_ms| HeapTrial {
                saturation: warmed_up.last_rate,
                p99_ms,
            })
        }
    };
    started.stop().await?;
    Ok(tried)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_heap_is_refused_by_its_p99_or_by_what_it_did_not_stand() {
        let tried = |p99_ms| {
            Ok(HeapTrial {
                saturation: 9000.0,
                p99_ms,
            })
        };
        assert_eq!(refused(&tried(6.0), 6.0), None);
        assert_eq!(
            refused(&tried(6.1), 6.0).as_deref(),
            Some("a p99 of 6.10 ms")
        );
        let broken = Err("it did not start".to_owned());
        assert_eq!(refused(&broken, 6.0).as_deref(), Some("it did not start"));
    }

    #[test]
    fn the_sizes_rise() {
        for mode in [Mode::Quick, Mode::Standard, Mode::Thorough] {
            assert!(plan::extent::<Vec<u32>>("heap", mode).unwrap().is_sorted());
        }
    }
}
