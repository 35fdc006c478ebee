//! The measuring compared with itself: two runs of one binary must show no difference, and the interval of a planted one must
//! contain what was planted.
//!
//! Four duets decide: the reference against itself, and against itself with more requests that are not counted (`plant` in
//! `rows.toml`). So what is planted is of the kind that is measured, and its size is known.

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

/// The exercise whose reference is measured.
const EXERCISE: u8 = 3;
/// The side that the others are compared with.
const REFERENCE: &str = "reference";

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
    /// The claims, that of no difference first.
    pub claims: Vec<Claim>,
}

/// What must have been found of one side, compared with the reference.
pub struct Claim {
    /// The share of the requests that was planted; 0 where none were.
    pub planted: f64,
    /// What was found.
    pub found: Comparison,
}

impl Claim {
    /// Whether what was found is what was planted.
    pub fn holds(&self) -> bool {
        if self.planted == 0.0 {
            return self.found.verdict == Verdict::NoDifferenceShown;
        }
        let interval = self.found.low.zip(self.found.high);
        let is_valid = self.found.verdict != Verdict::Invalid;
        is_valid && interval.is_some_and(|(low, high)| (low..=high).contains(&(1.0 + self.planted)))
    }

    /// What is claimed, in words.
    pub fn in_words(&self) -> String {
        if self.planted == 0.0 {
            return "the reference compared with itself shows no difference".to_owned();
        }
        let percent = self.planted * 100.0;
        format!("the interval contains the {percent:.0} % that are planted")
    }
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
        let plan = Plan::of(CALIBRATION, Mode::Standard)?;
        let mut experiment = Experiment::of(self.lab, &self.asked, self.subjects.clone(), plan);
        let path = experiment.session.records();
        experiment.show_load(&path);
        experiment.same_work().await?;
        experiment.duets(&pairs(&self.subjects), &path).await?;
        let mut result = experiment.finish().await?;
        CALIBRATION.clone_into(&mut result.target);
        let others = self.subjects.iter().filter(|side| side.id() != REFERENCE);
        let claims = others.map(|side| claim(&result.metrics, side));
        let claims: Vec<Claim> = claims.collect();
        result.tables.push(table(&claims));
        Ok(Calibrated { result, claims })
    }

    /// Compares a duet with turns: the ratio of the side with this share more requests to the reference must be the same
    /// whether both run at once or one after the other.
    pub async fn turns(&self, share: f64) -> anyhow::Result<[Comparison; 2]> {
        let plan = Plan {
            duets: 20,
            ..Plan::of(CALIBRATION, Mode::Standard)?
        };
        let mut subjects = self.subjects.clone();
        subjects.retain(|subject| subject.id() == REFERENCE || subject.row.plant == share);
        let [_, other] = subjects.as_slice() else {
            anyhow::bail!("rows.toml has no side with {share} more requests");
        };
        let mut experiment = Experiment::of(self.lab, &self.asked, subjects.clone(), plan);
        let path = experiment.session.records();
        let session = &mut experiment.session;
        let at_once = duet::play(session, &subjects, &path, 1).await?;
        // At another rate a read would cost something else.
        session.duet_rate = at_once.rate;
        let in_turns = duet::in_turns(session, &subjects, &path).await?;
        let mut cpu = metrics::closed("load")?;
        cpu.retain(|known| known.key == duet::CPU);
        let judged = [at_once.records, in_turns].map(|records| {
            let (ids, pairs) = (ids(&subjects), pairs(&subjects));
            let metrics = from_blocks(&cpu, &records, &ids, &pairs, needed(20));
            claim(&metrics, other).found
        });
        Ok(judged)
    }
}

/// What was found of a side's CPU time per request.
fn claim(metrics: &[Metric], side: &Subject) -> Claim {
    let judged = metrics.iter().find(|metric| metric.key == duet::CPU);
    let pair = judged.and_then(|metric| metric.comparison(side.id(), REFERENCE));
    let missing = || Comparison::invalid(side.id(), REFERENCE, "it was not measured");
    Claim {
        planted: side.row.plant,
        found: pair.cloned().unwrap_or_else(missing),
    }
}

/// What is claimed, and whether it holds.
fn table(claims: &[Claim]) -> Table {
    let columns = Column::list(["Ratio of CPU per request", "Holds"]);
    let mut table = Table::new("claims", "What is claimed", columns);
    table.corner = "Claim".to_owned();
    for claim in claims {
        let holds = if claim.holds() { "yes" } else { "no" };
        let found = Some(&claim.found).into();
        table.row(claim.in_words(), vec![found, Cell::text(holds)]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(planted: f64, verdict: Verdict, low: f64, high: f64) -> Claim {
        let found = Comparison {
            verdict,
            low: Some(low),
            high: Some(high),
            ..Comparison::invalid("a", "b", "")
        };
        Claim { planted, found }
    }

    #[test]
    fn the_reference_and_itself_must_show_no_difference() {
        assert!(claim(0.0, Verdict::NoDifferenceShown, 0.99, 1.01).holds());
        assert!(!claim(0.0, Verdict::Less, 0.9, 0.95).holds());
        assert!(!claim(0.0, Verdict::Invalid, 0.99, 1.01).holds());
    }

    #[test]
    fn a_planted_difference_that_is_found_too_large_or_too_small_is_not_found() {
        assert!(claim(0.05, Verdict::More, 1.04, 1.06).holds());
        assert!(!claim(0.05, Verdict::More, 1.17, 1.20).holds());
        assert!(!claim(0.05, Verdict::NoDifferenceShown, 0.99, 1.04).holds());
        assert!(!claim(0.05, Verdict::Invalid, 1.04, 1.06).holds());
    }
}
