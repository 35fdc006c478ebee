//! Exercise 20: the best tier by each figure.

use crate::codes::LENGTHS;
use workshop_measure::protocol::subject::Subject;
use workshop_measure::tables::{heading, ratio};
use workshop_results::file::{Metric, ResultFile};
use workshop_results::key::{At, CPU_PER_REQUEST, Key, P99, PSS_AT_LOAD, START_UP, THROUGHPUT};
use workshop_results::shown::{Cell, Column, Table};

/// What a tier can be best at. Threads and sizes are told as they are.
fn figures() -> [Key; 6] {
    let longest = THROUGHPUT.at(At::Bytes(LENGTHS[1]));
    [
        THROUGHPUT,
        longest,
        P99,
        CPU_PER_REQUEST,
        PSS_AT_LOAD,
        START_UP,
    ]
}

/// The best tier by each figure: among those that leave the service in Kotlin, and among all. By the means alone one
/// is always best; whether it is shown to be better than Kotlin alone is said beside.
pub fn best(result: &ResultFile, tiers: &[&Subject]) -> Table {
    let top = tiers.iter().map(|tier| tier.row.tier).max().flatten();
    let stays = tiers.iter().copied().filter(|tier| tier.row.tier < top);
    let groups = [
        ("The service stays in Kotlin", stays.collect()),
        ("All tiers", tiers.to_vec()),
    ];
    let columns = groups
        .iter()
        .flat_map(|(group, _)| Column::grouped(group, ["best", "÷ tier 0"]));
    let mut table = Table::new("best", "The best tier by each figure", columns.collect());
    table.by_name_only = true;
    for metric in figures().iter().filter_map(|key| result.metric(key)) {
        let cells = groups.iter().flat_map(|(_, tiers)| {
            let best = best_of(metric, tiers);
            best.map_or([Cell::Empty, Cell::Empty], |best| {
                let ground = best.against.first().map_or(best.id(), String::as_str);
                [Cell::Text(heading(best)), ratio(metric, best.id(), ground)]
            })
        });
        table.row(metric.heading(), cells.collect());
    }
    table
}

fn best_of<'s>(metric: &Metric, tiers: &[&'s Subject]) -> Option<&'s Subject> {
    // The start of a row behind a front is that of its service alone: it must not win over itself.
    let counts = |tier: &&&Subject| metric.key != START_UP || tier.front.is_none();
    let tiers: Vec<&Subject> = tiers.iter().filter(counts).copied().collect();
    let best = metric.best(tiers.iter().filter_map(|tier| metric.value(tier.id())))?;
    tiers.into_iter().find(|tier| tier.id() == best.side)
}
