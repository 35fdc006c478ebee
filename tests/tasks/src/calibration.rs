//! The measuring compared with itself: two runs of one binary must show no difference, and the interval of a planted one must
//! contain what was planted.
//!
//! Four duets decide: the reference against itself, and against itself under load for longer, with its CPU time divided by the requests
//! of the plain time (`plant` in `rows.toml`). So what is planted is of the kind that is measured, at the same rate, and its size is known.
//! For alternating throughput, only a share of the answers is counted: for 50 % more, two of three.
//!
//! What takes turns in rounds (throughput, p99, start-up, memory) has a calibration of its own, in [`rounds`].
//!
//! Whether a duet bends the ratio of services that differ is another question: [`turns`] compares it with blocks one after the other.

mod rounds;

use workshop_base::exercise::Catalogue;
use workshop_base::target::Target;
use workshop_measure::protocol::experiment::of_duets;
use workshop_measure::protocol::lab::Lab;
use workshop_measure::protocol::plan::Plan;
use workshop_measure::protocol::rows::Asked;
use workshop_measure::protocol::session::Session;
use workshop_measure::protocol::subject::{Subject, pairs};
use workshop_results::figures::figure;
use workshop_results::file::{
    CALIBRATION, Comparison, Metric, Mode, ROUNDS, ResultFile, TURNS, Verdict,
};
use workshop_results::key::{CPU_PER_REQUEST, Key, THROUGHPUT_ALTERNATING};
use workshop_results::manifest::Manifest;
use workshop_results::shown::{Cell, Column, Table};

/// What is measured in the exercise whose reference is.
const TASK: &str = "reads";
/// The side that the others are compared with.
const REFERENCE: &str = "reference";
/// The name of the table of how often each claim held.
const HELD: &str = "held";

/// The services of a calibration, built once for any number of them.
pub struct Calibration<'a> {
    lab: &'a Lab<'a>,
    asked: Asked,
    subjects: Vec<Subject>,
    in_rounds: bool,
}

/// What one calibration found.
pub struct Calibrated {
    /// The whole, as it is written down.
    pub result: ResultFile,
    /// The claims, that of no difference first.
    pub claims: Vec<Claim>,
}

/// What must have been found of one side, compared with another.
pub struct Claim {
    /// What is claimed, in words.
    pub words: String,
    /// The ratio that was planted; 1 where nothing was.
    pub ratio: f64,
    /// What was found.
    pub found: Comparison,
}

impl Claim {
    /// Whether what was found is what was planted.
    pub fn holds(&self) -> bool {
        if self.ratio == 1.0 {
            return self.found.verdict == Verdict::NoDifferenceShown;
        }
        let interval = self.found.low.zip(self.found.high);
        let is_valid = self.found.verdict != Verdict::Invalid;
        is_valid && interval.is_some_and(|(low, high)| (low..=high).contains(&self.ratio))
    }
}

/// How often a claim held.
#[derive(Debug)]
pub struct Score {
    claim: String,
    held: usize,
    /// The number of calibrations.
    pub times: usize,
}

impl Score {
    /// Whether it held as often as a 95 % interval may promise: at least 17 times of 20. A good ruler holds 19 times on average, and
    /// fewer than 17 times in two series of a hundred (binomial); but fewer than 19 in one series of four.
    pub fn is_enough(&self) -> bool {
        self.held * 20 >= self.times * 17
    }
}

/// Adds what one calibration found.
pub fn count(scores: &mut Vec<Score>, claims: &[Claim]) {
    if scores.is_empty() {
        scores.extend(claims.iter().map(|claim| Score {
            claim: claim.words.clone(),
            held: 0,
            times: 0,
        }));
    }
    for (score, claim) in scores.iter_mut().zip(claims) {
        score.times += 1;
        score.held += usize::from(claim.holds());
    }
}

/// How often the claims held in an earlier series of fewer than `times`, if these are the claims of this one, measured under the same
/// conditions: a series may end at any minute, and go on on another day.
pub fn begun(earlier: &ResultFile, now: &Calibrated, times: usize) -> Vec<Score> {
    let conditions = |result: &ResultFile| {
        let Manifest {
            machine,
            versions,
            flags,
            database,
            fingerprint,
            ..
        } = result.manifest.clone();
        (machine, versions, flags, database, fingerprint)
    };
    if conditions(earlier) != conditions(&now.result) {
        return Vec::new();
    }
    let held = earlier.tables.iter().find(|table| table.id == HELD);
    let scores = held.into_iter().flat_map(|table| &table.rows).map(|row| {
        let (Cell::Count(held), Cell::Count(times)) = (row.cell(0), row.cell(1)) else {
            return None;
        };
        Some(Score {
            claim: row.heading.clone(),
            held: usize::try_from(*held).ok()?,
            times: usize::try_from(*times).ok()?,
        })
    });
    let scores: Option<Vec<Score>> = scores.collect();
    let goes_on = |scores: &Vec<Score>| {
        let claims = now.claims.iter().map(|claim| &claim.words);
        let is_short = scores.iter().all(|score| score.times < times);
        is_short && scores.iter().map(|score| &score.claim).eq(claims)
    };
    scores.filter(goes_on).unwrap_or_default()
}

/// How often each claim held, for people.
pub fn table_of(scores: &[Score]) -> Table {
    let columns = Column::list(["Held", "Calibrations"]);
    let mut table = Table::new(HELD, "How often it held", columns);
    table.corner = "Claim".to_owned();
    for score in scores {
        let counts = [score.held, score.times].map(|count| Cell::Count(count as u64));
        table.row(&score.claim, counts.to_vec());
    }
    table
}

impl<'a> Calibration<'a> {
    /// Builds the services: of the calibration of duets, or of what is measured in rounds.
    pub async fn new(lab: &'a Lab<'a>, in_rounds: bool) -> anyhow::Result<Self> {
        let asked = asked(lab, if in_rounds { ROUNDS } else { CALIBRATION })?;
        let subjects = lab.subjects(&asked).await?.subjects;
        Ok(Calibration {
            lab,
            asked,
            subjects,
            in_rounds,
        })
    }

    /// Calibrates once.
    pub async fn run(&self) -> anyhow::Result<Calibrated> {
        let (lab, asked) = (self.lab, &self.asked);
        let subjects = self.subjects.clone();
        let (mut result, claims) = if self.in_rounds {
            let result = rounds::measured(lab, asked, subjects).await?;
            let claims = rounds::claims(&result.metrics);
            (result, claims)
        } else {
            let (result, _) = measured(lab, asked, subjects, false).await?;
            let others = self.subjects.iter().filter(|side| side.id() != REFERENCE);
            let mut claims = Vec::new();
            for key in [CPU_PER_REQUEST, THROUGHPUT_ALTERNATING] {
                claims.extend(
                    others
                        .clone()
                        .map(|side| claim(&result.metrics, &key, side)),
                );
            }
            (result, claims)
        };
        result.tables.push(table(&claims));
        Ok(Calibrated { result, claims })
    }
}

/// Compares duets with turns: how far a duet bends the ratio of two services that differ.
pub async fn turns(lab: &Lab<'_>) -> anyhow::Result<ResultFile> {
    let asked = asked(lab, TURNS)?;
    let subjects = lab.subjects(&asked).await?.subjects;
    let (mut result, in_turns) = measured(lab, &asked, subjects, true).await?;
    let duets = result.metrics.iter().flat_map(|metric| &metric.comparisons);
    let table = bends(duets, &in_turns);
    result.tables.push(table);
    Ok(result)
}

/// The duets of a task, and what its pairs show one after the other, where that is asked for.
async fn measured(
    lab: &Lab<'_>,
    asked: &Asked,
    subjects: Vec<Subject>,
    in_turns: bool,
) -> anyhow::Result<(ResultFile, Vec<Comparison>)> {
    let plan = Plan::of(&asked.task, asked.mode)?;
    let mut session = Session::of(lab, asked, &subjects, plan);
    let path = session.records();
    session.show_load(&path);
    let subjects = session.same_work(subjects).await?;
    let duets = session.duets(&subjects, &pairs(&subjects), &path).await?;
    let in_turns = match in_turns {
        true => session.in_turns(&subjects, &path, duets.rate).await?,
        false => Vec::new(),
    };
    let found = session.judged(&of_duets()?, &subjects, Vec::new(), Some(duets));
    let mut result = session.finish(&subjects, found).await?;
    result.target.clone_from(&asked.task);
    Ok((result, in_turns))
}

/// What a duet found, what turns found, and how far they are apart.
fn bends<'a>(duets: impl Iterator<Item = &'a Comparison>, in_turns: &[Comparison]) -> Table {
    let duets: Vec<&Comparison> = duets.collect();
    let headings = ["Both at the same time", "One after the other", "Bent by"];
    let title = "CPU per request, measured in two ways";
    let mut table = Table::new("turns", title, Column::list(headings));
    table.corner = "Ratio".to_owned();
    for turns in in_turns {
        let same =
            |pair: &&&Comparison| (&pair.side, &pair.against) == (&turns.side, &turns.against);
        let at_once = duets.iter().find(same).copied();
        let ratios = at_once.and_then(|at_once| at_once.ratio).zip(turns.ratio);
        let bent = ratios.map(|(at_once, turns)| {
            Cell::text(format!("{:+.0} %", (at_once / turns - 1.0) * 100.0))
        });
        table.row(
            format!("{} / {}", turns.side, turns.against),
            vec![at_once.into(), Some(turns).into(), bent.unwrap_or_default()],
        );
    }
    table
}

fn asked(lab: &Lab<'_>, task: &str) -> anyhow::Result<Asked> {
    let exercise = Catalogue::read(lab.workspace)?
        .first_measured_by(TASK)?
        .number;
    Ok(Asked {
        task: task.to_owned(),
        exercise,
        target: Target::Solution(exercise),
        mode: Mode::Standard,
        rounds: None,
        peers: false,
    })
}

/// What was found of a side, whose requests cost or take so much more than the reference's as is planted.
fn claim(metrics: &[Metric], key: &Key, side: &Subject) -> Claim {
    let planted = side.row.plant;
    let (name, ratio) = match key {
        key if *key == THROUGHPUT_ALTERNATING => ("throughput, alternating", side.row.counted()),
        _ => ("CPU per request", 1.0 + planted),
    };
    let words = match planted {
        0.0 => format!("{name}: the reference compared with itself shows no difference"),
        planted => format!(
            "{name}: the interval contains the {:.0} % that are planted",
            planted * 100.0
        ),
    };
    Claim {
        words,
        ratio,
        found: found(metrics, key, side.id(), REFERENCE),
    }
}

/// What was found of two sides.
fn found(metrics: &[Metric], key: &Key, side: &str, against: &str) -> Comparison {
    let judged = metrics.iter().find(|metric| metric.key == *key);
    let pair = judged.and_then(|metric| metric.comparison(side, against));
    let missing = || Comparison::invalid(side, against, "it was not measured");
    pair.cloned().unwrap_or_else(missing)
}

/// What is claimed, and whether it holds.
fn table(claims: &[Claim]) -> Table {
    let columns = Column::list(["Planted", "Ratio", "Holds"]);
    let mut table = Table::new("claims", "What is claimed", columns);
    table.corner = "Claim".to_owned();
    for claim in claims {
        let holds = if claim.holds() { "yes" } else { "no" };
        let planted = Cell::text(figure(claim.ratio));
        let found = Some(&claim.found).into();
        table.row(&claim.words, vec![planted, found, Cell::text(holds)]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(ratio: f64, verdict: Verdict, low: f64, high: f64) -> Claim {
        let found = Comparison {
            verdict,
            low: Some(low),
            high: Some(high),
            ..Comparison::invalid("a", "b", "")
        };
        Claim {
            words: String::new(),
            ratio,
            found,
        }
    }

    #[test]
    fn the_reference_and_itself_must_show_no_difference() {
        assert!(claim(1.0, Verdict::NoDifferenceShown, 0.99, 1.01).holds());
        assert!(!claim(1.0, Verdict::Less, 0.9, 0.95).holds());
        assert!(!claim(1.0, Verdict::Invalid, 0.99, 1.01).holds());
    }

    #[test]
    fn a_claim_may_fail_three_times_in_twenty_and_no_more_but_never_if_there_are_few() {
        let after = |held: usize, missed: usize| {
            let mut scores = Vec::new();
            for low in [1.04].repeat(held).into_iter().chain([1.06].repeat(missed)) {
                count(&mut scores, &[claim(1.05, Verdict::More, low, 1.07)]);
            }
            scores[0].is_enough()
        };
        assert!(after(17, 3));
        assert!(!after(16, 4));
        assert!(after(3, 0));
        assert!(!after(2, 1));
    }

    #[test]
    fn a_series_goes_on_where_the_claims_and_the_conditions_are_those_it_began_with() {
        let series = |machine: &str, words: &str, times: usize| {
            let claim = Claim {
                words: words.to_owned(),
                ..claim(1.05, Verdict::More, 1.04, 1.07)
            };
            let mut scores = Vec::new();
            for _ in 0..times {
                count(&mut scores, std::slice::from_ref(&claim));
            }
            let mut result = empty_result();
            result.manifest.machine.cpu = machine.to_owned();
            result.tables.push(table_of(&scores));
            Calibrated {
                result,
                claims: vec![claim],
            }
        };
        let now = series("this one", "5 %", 1);
        let held = |machine: &str, words: &str, times: usize| {
            let scores = begun(&series(machine, words, times).result, &now, 20);
            scores.first().map(|score| (score.held, score.times))
        };
        assert_eq!(held("this one", "5 %", 12), Some((12, 12)));
        assert_eq!(held("another", "5 %", 12), None);
        assert_eq!(held("this one", "6 %", 12), None);
        assert_eq!(held("this one", "5 %", 20), None);
    }

    fn empty_result() -> ResultFile {
        ResultFile {
            schema: 0,
            task: String::new(),
            exercise: String::new(),
            target: String::new(),
            mode: Mode::Standard,
            taken_at: String::new(),
            machine: String::new(),
            manifest: Manifest::default(),
            sides: Vec::new(),
            metrics: Vec::new(),
            predictions: Vec::new(),
            notes: Vec::new(),
            invalid: Vec::new(),
            blocks: Vec::new(),
            tables: Vec::new(),
            charts: Vec::new(),
        }
    }

    #[test]
    fn a_duet_that_finds_less_of_a_difference_than_turns_is_said_to_bend_it() {
        let found = |ratio| Comparison {
            ratio: Some(ratio),
            ..Comparison::invalid("light", "heavy", "")
        };
        let table = bends([found(0.52)].iter(), &[found(0.5)]);
        assert_eq!(table.rows[0].cells[2], Cell::text("+4 %"));
    }

    #[test]
    fn a_planted_difference_that_is_found_too_large_or_too_small_is_not_found() {
        assert!(claim(1.05, Verdict::More, 1.04, 1.06).holds());
        assert!(!claim(1.05, Verdict::More, 1.17, 1.20).holds());
        assert!(!claim(1.05, Verdict::NoDifferenceShown, 0.99, 1.04).holds());
        assert!(!claim(1.05, Verdict::Invalid, 1.04, 1.06).holds());
    }
}
