//! Exercise 5: a stall of the database, counted from when requests were sent and from when they were due.

use std::collections::BTreeMap;

use workshop_measure::tables::{see_it_yourself, statuses};
use workshop_results::figures::{figure, interval};
use workshop_results::file::{Comparison, ResultFile};
use workshop_results::metrics::UNCORRECTED;
use workshop_results::shown::{Chart, Column, Course, Drawing, Panel, Table};

/// A load at a constant rate while the database stands still for a while, each request counted in both ways.
#[derive(Debug)]
pub struct Stall {
    /// The load, as it is typed.
    pub command: String,
    /// The rate offered to every side, in requests per second.
    pub rate: f64,
    /// How long each run was, in seconds.
    pub seconds: f64,
    /// From when to when the database stood still, in seconds from the beginning of the run.
    pub band: (f64, f64),
    /// The length of a moment of the course, in milliseconds.
    pub moment_ms: f64,
    /// What came out, by side.
    pub sides: Vec<Stalled>,
}

/// What the stall was to one side.
#[derive(Debug)]
pub struct Stalled {
    /// The side's id.
    pub side: String,
    /// How often each status came, over all runs that count.
    pub statuses: BTreeMap<String, u64>,
    /// The corrected p99 compared with the uncorrected one of the same runs.
    pub p99: Comparison,
    /// The slowest request of each moment of a run, in milliseconds, by both ways of counting: of those sent then, and of those
    /// due then.
    pub course: [Vec<Option<f64>>; 2],
}

/// The percentiles by both ways of counting, side by side.
pub fn counted_twice(result: &ResultFile, stall: &Stall) -> Table {
    let columns = stall.sides.iter().flat_map(|stalled| {
        ["from sent", "from due"].map(|heading| Column {
            group: result.heading(&stalled.side),
            heading: heading.to_owned(),
        })
    });
    let title = format!(
        "A stall of {} s: the same requests counted from when they were sent and from when they were due",
        figure(stall.band.1 - stall.band.0)
    );
    let mut table = Table::new("counted-twice", title, columns.collect());
    for metric in &result.metrics {
        let Some(uncorrected) = result.metric(&format!("{}{UNCORRECTED}", metric.key)) else {
            continue;
        };
        let of_side =
            |stalled: &Stalled| [uncorrected, metric].map(|of| of.value(&stalled.side).into());
        table.row(
            metric.heading(),
            stall.sides.iter().flat_map(of_side).collect(),
        );
    }
    table.notes = stall
        .sides
        .iter()
        .map(|side| finding(result, side))
        .collect();
    let answers = stall.sides.iter().map(|side| {
        let label = result.heading(&side.side);
        format!("{label}, answers by status: {}", statuses(&side.statuses))
    });
    table.notes.extend(answers);
    table.notes.push(see_it_yourself(&stall.command));
    table
}

/// What the correction makes of a side's p99.
fn finding(result: &ResultFile, stalled: &Stalled) -> String {
    let (label, p99) = (result.heading(&stalled.side), &stalled.p99);
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
pub fn course(result: &ResultFile, stall: &Stall) -> Chart {
    let panels = stall.sides.iter().flat_map(|stalled| {
        let label = result.heading(&stalled.side);
        let ways = [("sent", true), ("due", false)].into_iter();
        ways.zip(&stalled.course)
            .map(move |((when, faint), moments)| Panel {
                name: format!("{label}, from when it was {when}"),
                faint,
                moments: moments.clone(),
            })
    });
    Chart {
        id: "course".to_owned(),
        title: format!(
            "The slowest request of each {} ms in one run at {} requests per second. The database stands still in the gray stretch. Where there is no bar, no request was sent.",
            figure(stall.moment_ms),
            figure(stall.rate)
        ),
        drawing: Drawing::Course(Course {
            seconds: stall.seconds,
            band: stall.band,
            panels: panels.collect(),
        }),
    }
}
