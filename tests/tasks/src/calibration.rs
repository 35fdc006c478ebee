//! The measuring compared with itself: two runs of one binary must show no difference, a planted one must be found.
//!
//! Two duets decide: the reference against itself, and against a copy of it that does some more work in every read
//! (`tests/variants/slowdown.patch`), a share of what the first duet says that a read costs.

use anyhow::Context;

use workshop_base::target::Target;
use workshop_measure::protocol::duet;
use workshop_measure::protocol::experiment::{Asked, Experiment, ids, pairs};
use workshop_measure::protocol::lab::Lab;
use workshop_measure::protocol::metrics;
use workshop_measure::protocol::plan::{Plan, needed};
use workshop_measure::protocol::subject::Subject;
use workshop_results::file::{CALIBRATION, Comparison, Metric, Mode, ResultFile, Verdict};
use workshop_results::metrics::from_blocks;
use workshop_results::shown::{Cell, Column, Table};
use workshop_results::statistics::geometric_mean;

/// The exercise whose reference is measured.
const EXERCISE: u8 = 3;
/// What is added to the CPU time of a read, as a share of it.
const PLANTED: f64 = 0.05;
/// The variable that tells the copy how much more to do.
const WORK_NS: &str = "WORKSHOP_WORK_NS";
/// The sides.
const REFERENCE: &str = "reference";
const AGAIN: &str = "again";
const SLOWED: &str = "slowed";

/// The services of a calibration, built once for any number of them.
pub struct Calibration<'a> {
    lab: &'a Lab<'a>,
    asked: Asked,
    subjects: Vec<Subject>,
}

/// What one calibration found.
pub struct Calibrated {
    /// The whole, as it is written down.
    pub result: ResultFile,
    /// The comparisons that must show no difference and the planted one.
    pub decides: [Comparison; 2],
}

/// Which of the claims hold.
pub fn held([same, planted]: &[Comparison; 2]) -> [bool; 2] {
    [
        same.verdict == Verdict::NoDifferenceShown,
        planted.verdict == Verdict::More,
    ]
}

impl<'a> Calibration<'a> {
    /// Builds the services.
    pub async fn new(lab: &'a Lab<'a>) -> anyhow::Result<Self> {
        let asked = Asked {
            task: CALIBRATION.to_owned(),
            exercise: EXERCISE,
            target: Target::Solution(EXERCISE),
            mode: Mode::Standard,
            peers: false,
        };
        let subjects = lab.subjects(&asked).await?.subjects;
        Ok(Calibration {
            lab,
            asked,
            subjects,
        })
    }

    /// Calibrates once.
    pub async fn run(&self) -> anyhow::Result<Calibrated> {
        let (plan, subjects) = (
            Plan::of(CALIBRATION, Mode::Standard)?,
            self.subjects.clone(),
        );
        let mut experiment = Experiment::of(self.lab, &self.asked, subjects, plan);
        let path = experiment.session.records();
        experiment.show_load(&path);
        experiment.same_work().await?;
        let [same, planted] = [AGAIN, SLOWED].map(|side| (side.to_owned(), REFERENCE.to_owned()));
        let rate = experiment.duets(&[same], &path).await?;
        // At another rate a read would cost something else, and the same work would be another share of it.
        experiment.session.duet_rate = rate;
        let cost = experiment.metrics.first();
        let cost = cost.and_then(|metric| metric.value(REFERENCE));
        let cost_us = cost.context("the reference could not be measured")?.value;
        plant(&mut experiment.subjects, cost_us * PLANTED);
        experiment.duets(&[planted], &path).await?;
        experiment.notes.push(format!(
            "planted: {:.2} µs of work in every read, {:.0} % of the {cost_us:.1} µs of CPU time that it costs",
            cost_us * PLANTED,
            PLANTED * 100.0
        ));
        let mut result = experiment.finish().await?;
        CALIBRATION.clone_into(&mut result.target);
        let decides = [AGAIN, SLOWED].map(|side| decides(&result.metrics, side));
        let mut found = Calibrated { result, decides };
        let table = claims(&found);
        found.result.tables.push(table);
        Ok(found)
    }

    /// Compares a duet with turns: the ratio of the slowed copy, whose work is a larger share here, to the reference must be
    /// the same whether both run at once or one after the other.
    pub async fn turns(&self, share: f64) -> anyhow::Result<[Comparison; 2]> {
        let plan = Plan {
            duets: 20,
            ..Plan::of(CALIBRATION, Mode::Standard)?
        };
        let mut subjects = self.subjects.clone();
        subjects.retain(|subject| subject.id() != AGAIN);
        let mut experiment = Experiment::of(self.lab, &self.asked, subjects.clone(), plan);
        let path = experiment.session.records();
        let session = &mut experiment.session;
        let alone = duet::play(session, &subjects[..1], &path, 1).await?;
        let costs = alone
            .records
            .iter()
            .map(|record| record.values.get(duet::CPU).copied());
        let cost_us = geometric_mean(&costs.flatten().collect::<Vec<_>>());
        let cost_us = cost_us.context("the reference could not be measured")?;
        plant(&mut subjects, cost_us * share);
        let at_once = duet::play(session, &subjects, &path, 1).await?;
        let in_turns = duet::in_turns(session, &subjects, &path).await?;
        let mut cpu = metrics::closed("load")?;
        cpu.retain(|known| known.key == duet::CPU);
        let judged = [at_once.records, in_turns].map(|records| {
            let (ids, pairs) = (ids(&subjects), pairs(&subjects));
            let metrics = from_blocks(&cpu, &records, &ids, &pairs, needed(20));
            decides(&metrics, SLOWED)
        });
        Ok(judged)
    }
}

/// What was found of a side's CPU time per request.
fn decides(metrics: &[Metric], side: &str) -> Comparison {
    let judged = metrics.iter().find(|metric| metric.key == duet::CPU);
    let pair = judged.and_then(|metric| metric.comparison(side, REFERENCE));
    pair.cloned()
        .unwrap_or_else(|| Comparison::invalid(side, REFERENCE, "it was not measured"))
}

fn plant(subjects: &mut [Subject], microseconds: f64) {
    let nanoseconds = format!("{:.0}", microseconds * 1e3);
    for slowed in subjects.iter_mut().filter(|subject| subject.id() == SLOWED) {
        slowed
            .launch
            .env
            .push((WORK_NS.to_owned(), nanoseconds.clone()));
    }
}

/// What is claimed, and whether it holds.
fn claims(found: &Calibrated) -> Table {
    let columns = Column::list(["Ratio of CPU per request", "Holds"]);
    let mut table = Table::new("claims", "What is claimed", columns);
    table.corner = "Claim".to_owned();
    let claims = [
        "the reference compared with itself shows no difference".to_owned(),
        format!("{:.0} % more CPU per request is found", PLANTED * 100.0),
    ];
    for ((claim, decides), held) in claims
        .into_iter()
        .zip(&found.decides)
        .zip(held(&found.decides))
    {
        let holds = if held { "yes" } else { "no" };
        table.row(claim, vec![Some(decides).into(), Cell::text(holds)]);
    }
    table
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
        let judged = |same, slowed| held(&[comparison(same), comparison(slowed)]);
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
