//! What the port was meant to reach, and what it reached.

use serde::Deserialize;

use workshop_results::figures::figure;
use workshop_results::file::ResultFile;
use workshop_results::key::Key;
use workshop_results::shown::{Cell, Column, Table};

/// The best row of Kotlin, as a goal names it.
const BEST: &str = "best";

/// A ratio that the port was meant to reach, as `tables.toml` says.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Goal {
    what: String,
    /// The side that is meant to reach it; none for the one that was asked for.
    of: Option<String>,
    pub(super) metric: Key,
    against: String,
    least: Option<f64>,
    most: Option<f64>,
}

/// What the port was meant to reach, and what it reached.
pub fn table(result: &ResultFile, goals: &[Goal]) -> Table {
    let title = "What the port was meant to reach";
    let columns = Column::list(["Goal", "Measured", "Verdict"]);
    let mut table = Table::new("goals", title, columns);
    table.by_name_only = true;
    for goal in goals {
        let reached = result.metric(&goal.metric).and_then(|metric| {
            if goal.against == BEST {
                return result.rust_against_kotlin(metric);
            }
            let side = match &goal.of {
                Some(side) => side,
                None => &result.asked_for()?.id,
            };
            metric.comparison(side, &goal.against)
        });
        let words = match (goal.least, goal.most) {
            (Some(least), _) => format!("at least {}", figure(least)),
            (None, most) => format!("at most {}", figure(most.unwrap_or(f64::INFINITY))),
        };
        let verdict = match reached.and_then(|reached| reached.ratio) {
            None => "not measured",
            Some(ratio)
                if goal.least.is_none_or(|least| ratio >= least)
                    && goal.most.is_none_or(|most| ratio <= most) =>
            {
                "reached"
            }
            Some(_) => "not reached",
        };
        let cells = vec![Cell::Text(words), reached.into(), Cell::text(verdict)];
        table.row(&goal.what, cells);
    }
    table
}
