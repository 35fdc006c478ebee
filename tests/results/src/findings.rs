//! What a measurement shows beside its metrics, in sentences: for the terminal and for the report alike.

use crate::file::Comparison;

use crate::file::PoolSweep;

use crate::file::ResultFile;

use crate::file::Stall;
use crate::table::figure;
use crate::table::interval;

/// All of them.
pub fn findings(result: &ResultFile) -> Vec<String> {
    let stall = result
        .stall
        .iter()
        .flat_map(|stall| of_stall(result, stall));
    let pool = result.pool.iter().flat_map(|pool| of_pool(result, pool));
    stall.chain(pool).collect()
}

/// What the correction makes of each side's p99.
pub fn of_stall(result: &ResultFile, stall: &Stall) -> Vec<String> {
    let sentence = |label: &str, p99: &Comparison| match (p99.ratio, &p99.reason) {
        (Some(ratio), _) => format!(
            "{label}: the corrected p99 is {} times the uncorrected one of the same runs (95 % interval {})",
            figure(ratio),
            interval(p99)
        ),
        (None, reason) => format!(
            "{label}: no ratio of the two p99: {}",
            reason.as_deref().unwrap_or("unknown")
        ),
    };
    stall
        .sides
        .iter()
        .map(|stalled| sentence(result.label(&stalled.side), &stalled.p99))
        .collect()
}

/// Where more connections stop to help.
pub fn of_pool(result: &ResultFile, pool: &PoolSweep) -> Vec<String> {
    let enough = pool.enough * 100.0;
    pool.knees
        .iter()
        .map(|knee| {
            format!(
                "{}: the smallest pool with at least {enough:.0} % of the best throughput is {} ({:.0} %; the best is at {})",
                result.label(&knee.side),
                knee.size,
                knee.share * 100.0,
                knee.best
            )
        })
        .collect()
}
