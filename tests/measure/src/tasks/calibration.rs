//! The measuring compared with itself: two runs of one binary must show no difference, a planted one must be found.
//!
//! Two duets decide: the reference against itself, and against a copy of it that does some more work in every read
//! (`tests/variants/slowdown.patch`), a share of what the first duet says that a read costs.

use std::time::Duration;

use anyhow::Context;

use crate::protocol::duet;
use crate::protocol::experiment::{Asked, Experiment, Pair};
use crate::protocol::lab::Lab;
use crate::protocol::metrics;
use crate::protocol::plan::{Plan, needed};
use crate::protocol::subject::Subject;
use crate::tables::calibration::{Claim, claims};
use workshop_base::target::Target;
use workshop_results::file::{CALIBRATION, Comparison, Mode, ResultFile, Verdict};
use workshop_results::metrics::from_blocks;

/// The exercise whose reference is measured.
const EXERCISE: u8 = 3;
/// What is added to the CPU time of a read, as a share of it.
const PLANTED: f64 = 0.05;
/// The copy that does more, and the variable that says how much.
const VARIANT: &str = "slowdown";
const WORK_NS: &str = "WORKSHOP_WORK_NS";
/// The sides.
const REFERENCE: &str = "reference";
const AGAIN: &str = "again";
const SLOWED: &str = "slowed";

/// The services of a calibration, built once for any number of them.
pub struct Calibration<'a> {
    lab: &'a Lab<'a>,
    asked: Asked,
    reference: Subject,
    slowed: Subject,
}

/// What one calibration found.
pub struct Calibrated {
    /// The whole, as it is written down.
    pub result: ResultFile,
    /// What must be true, and whether it is.
    pub claims: Vec<Claim>,
}

impl Calibrated {
    /// True when every claim holds.
    pub fn holds(&self) -> bool {
        self.claims.iter().all(|claim| claim.holds)
    }
}

impl<'a> Calibration<'a> {
    /// Builds both services.
    pub async fn new(lab: &'a Lab<'a>) -> anyhow::Result<Self> {
        let target = Target::Solution(EXERCISE);
        let reference = lab.subject(target).await?.renamed(REFERENCE, "reference");
        let slowed = lab
            .variant(EXERCISE, VARIANT, SLOWED)
            .await?
            .renamed(SLOWED, SLOWED);
        let asked = Asked {
            task: CALIBRATION.to_owned(),
            exercise: EXERCISE,
            target,
            mode: Mode::Standard,
        };
        Ok(Calibration {
            lab,
            asked,
            reference,
            slowed,
        })
    }

    /// Calibrates once.
    pub async fn run(&self) -> anyhow::Result<Calibrated> {
        let again = self.reference.clone().renamed(AGAIN, "the same again");
        let subjects = vec![self.reference.clone(), again, self.slowed.clone()];
        let plan = Plan::of(CALIBRATION, Mode::Standard)?;
        let mut experiment =
            Experiment::begin(self.lab, &self.asked, subjects, plan, 2, Duration::ZERO);
        let path = experiment.session.records();
        experiment.show_load(&path);
        experiment
            .same_work(&[&self.reference, &self.slowed], EXERCISE)
            .await?;
        experiment
            .duets(&[against_the_reference(AGAIN)], &path)
            .await?;
        let cost = experiment
            .metrics
            .first()
            .and_then(|metric| metric.value(REFERENCE));
        let cost_us = cost.context("the reference could not be measured")?.value;
        plant(&mut experiment.subjects[2], cost_us * PLANTED);
        experiment
            .duets(&[against_the_reference(SLOWED)], &path)
            .await?;
        experiment.notes.push(format!(
            "planted: {:.2} µs of work in every read, {:.0} % of the {cost_us:.1} µs of CPU time that it costs",
            cost_us * PLANTED,
            PLANTED * 100.0
        ));
        let judged = experiment
            .metrics
            .iter()
            .find(|metric| metric.key == duet::CPU);
        let decides = |side: &str| {
            let pair = judged.and_then(|metric| metric.comparison(side, REFERENCE));
            pair.cloned()
                .unwrap_or_else(|| Comparison::invalid(side, REFERENCE, "it was not measured"))
        };
        let claimed = claimed(decides(AGAIN), decides(SLOWED));
        let mut result = experiment.finish().await;
        CALIBRATION.clone_into(&mut result.target);
        result.tables.push(claims(&claimed, "CPU per request"));
        Ok(Calibrated {
            result,
            claims: claimed,
        })
    }

    /// Compares a duet with turns: the ratio of the slowed copy, whose work is a larger share here, to the reference must be
    /// the same whether both run at once or one after the other.
    pub async fn turns(&self, share: f64) -> anyhow::Result<[Comparison; 2]> {
        let mut slowed = self.slowed.clone();
        let plan = Plan {
            duets: 20,
            ..Plan::of(CALIBRATION, Mode::Standard)?
        };
        let subjects = vec![self.reference.clone(), slowed.clone()];
        let mut experiment =
            Experiment::begin(self.lab, &self.asked, subjects, plan, 4, Duration::ZERO);
        let path = experiment.session.records();
        let alone = duet::play(
            &mut experiment.session,
            std::slice::from_ref(&self.reference),
            &path,
            1,
        )
        .await?;
        let costs: Vec<f64> = alone
            .records
            .iter()
            .filter_map(|record| record.values.get(duet::CPU).copied())
            .collect();
        let cost_us = workshop_results::statistics::geometric_mean(&costs);
        plant(
            &mut slowed,
            cost_us.context("the reference could not be measured")? * share,
        );
        let cast = [self.reference.clone(), slowed];
        let at_once = duet::play(&mut experiment.session, &cast, &path, 1).await?;
        let in_turns = duet::in_turns(&mut experiment.session, &cast, &path).await?;
        let sides = [REFERENCE.to_owned(), SLOWED.to_owned()];
        let cpu: Vec<_> = metrics::closed("load")?;
        let cpu: Vec<_> = cpu
            .into_iter()
            .filter(|known| known.key == duet::CPU)
            .collect();
        let pairs = [against_the_reference(SLOWED)];
        let judged = [at_once.records, in_turns].map(|records| {
            let metrics = from_blocks(&cpu, &records, &sides, &pairs, needed(20));
            let pair = metrics
                .first()
                .and_then(|metric| metric.comparisons.first())
                .cloned();
            pair.unwrap_or_else(|| Comparison::invalid(SLOWED, REFERENCE, "it was not measured"))
        });
        Ok(judged)
    }
}

fn plant(slowed: &mut Subject, microseconds: f64) {
    let nanoseconds = format!("{:.0}", microseconds * 1e3);
    slowed.launch.env.push((WORK_NS.to_owned(), nanoseconds));
}

fn against_the_reference(side: &str) -> Pair {
    (side.to_owned(), REFERENCE.to_owned())
}

/// What must be true of the two duets.
fn claimed(same: Comparison, slowed: Comparison) -> Vec<Claim> {
    vec![
        Claim {
            claim: "the reference compared with itself shows no difference".to_owned(),
            holds: same.verdict == Verdict::NoDifferenceShown,
            decides: same,
        },
        Claim {
            claim: format!("{:.0} % more CPU per request is found", PLANTED * 100.0),
            holds: slowed.verdict == Verdict::More,
            decides: slowed,
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_claims_need_no_difference_here_and_more_cpu_there() {
        let comparison = |verdict| Comparison {
            verdict,
            ..Comparison::invalid("a", "b", "")
        };
        let judged = |same, slowed| {
            let claims = claimed(comparison(same), comparison(slowed));
            claims.iter().map(|claim| claim.holds).collect::<Vec<_>>()
        };
        assert_eq!(
            judged(Verdict::NoDifferenceShown, Verdict::More),
            [true, true]
        );
        assert_eq!(
            judged(Verdict::Less, Verdict::NoDifferenceShown),
            [false, false]
        );
        assert_eq!(judged(Verdict::Invalid, Verdict::Invalid), [false, false]);
    }
}
