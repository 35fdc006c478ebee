//! What the port was meant to reach, and what it reached.

use serde::Deserialize;

use workshop_results::figures::figure;
use workshop_results::file::{Comparison, ResultFile};
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

impl Goal {
    /// Whether it is reached: an interval decides only when all of it is on one side.
    fn verdict(&self, found: &Comparison) -> &'static str {
        let Some(ratio) = found.ratio else {
            return "not measured";
        };
        let meets = |value: f64| {
            self.least.is_none_or(|least| value >= least)
                && self.most.is_none_or(|most| value <= most)
        };
        match (
            meets(found.low.unwrap_or(ratio)),
            meets(found.high.unwrap_or(ratio)),
        ) {
            (true, true) => "reached",
            (false, false) => "not reached",
            _ => "undecided",
        }
    }
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
        let verdict = reached.map_or("not measured", |reached| goal.verdict(reached));
        let cells = vec![Cell::Text(words), reached.into(), Cell::text(verdict)];
        table.row(&goal.what, cells);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_that_crosses_a_goal_decides_nothing() {
        let goal = Goal {
            what: "throughput".to_owned(),
            of: None,
            metric: workshop_results::key::THROUGHPUT,
            against: BEST.to_owned(),
            least: Some(0.85),
            most: None,
        };
        let found = |low, ratio, high| Comparison {
            ratio: Some(ratio),
            low: Some(low),
            high: Some(high),
            ..Comparison::invalid("a", "b", "")
        };
        assert_eq!(goal.verdict(&found(0.86, 0.9, 0.94)), "reached");
        assert_eq!(goal.verdict(&found(0.8, 0.9, 0.94)), "undecided");
        assert_eq!(goal.verdict(&found(0.7, 0.8, 0.84)), "not reached");
        assert_eq!(
            goal.verdict(&Comparison::invalid("a", "b", "")),
            "not measured"
        );
    }
}
