//! The measuring compared with itself: two runs of one binary must show no difference, a planted slowdown must be found.
//!
//! Three sides share the rounds: the reference, the reference again, and a copy of it that is busy for some microseconds in
//! every read (`tests/variants/slowdown.patch`). How many is found out first, so that throughput falls by 15 %.
//! A 95 % interval misses the truth once in twenty times: so will a calibration of a sound machine.

use crate::protocol::block;

use crate::protocol::block::Reads;
use crate::protocol::lab;
use crate::protocol::lab::Lab;
use crate::protocol::plan::CONNECTIONS;
use crate::protocol::plan::Plan;
use crate::protocol::plan::Sides;
use crate::protocol::progress;
use crate::protocol::progress::Progress;
use crate::protocol::session::Session;
use crate::protocol::subject::Subject;
use crate::tables::calibration::{self as tables, Claim};
use crate::tasks::load;
use crate::tasks::load::Wanted;
use crate::tasks::load::same_work;
use crate::tools::oha::Oha;
use workshop_base::process;
use workshop_base::target::Target;
use workshop_results::file::CALIBRATION;
use workshop_results::file::Comparison;
use workshop_results::file::Mode;
use workshop_results::file::ResultFile;
use workshop_results::file::Verdict;

/// The exercise whose reference is measured.
const EXERCISE: u8 = 3;
/// The share of throughput that the planted slowdown takes away.
pub const PLANTED: f64 = 0.15;
/// The copy that is slowed.
const VARIANT: &str = "slowdown";
/// The variable that it reads.
const SPIN: &str = "WORKSHOP_SPIN_US";
/// How often the slowdown is tried and corrected before it counts.
const CORRECTIONS: usize = 3;

/// The sides.
const REFERENCE: &str = "reference";
const AGAIN: &str = "again";
const SLOWED: &str = "slowed";

/// Runs the calibration.
///
/// # Errors
/// When something does not build or start, or a tool is missing.
pub async fn measure(lab: &Lab<'_>) -> anyhow::Result<ResultFile> {
    let oha = Oha::find(lab.workspace)?;
    let reference = lab.subject(Target::Solution(EXERCISE)).await?;
    let again = reference.clone().renamed(AGAIN, "the same again");
    let reference = reference.renamed(REFERENCE, "reference");
    let mut slowed = lab
        .variant(EXERCISE, VARIANT, SLOWED)?
        .renamed(SLOWED, SLOWED);

    let plan = Plan::calibration();
    let expected = plan.expected(Sides { kotlin: 0, rust: 3 });
    println!(
        "calibrating in {} rounds: the reference, the same again, and one that is slowed by {:.0} %; about {}",
        plan.rounds,
        PLANTED * 100.0,
        progress::in_words(expected)
    );
    let progress = Progress::begin(expected);
    progress.part("the same work? 200 records, failures, round trips");
    let same = same_work(lab, &[reference.clone(), slowed.clone()], EXERCISE).await?;
    let mut session = Session::new(lab, &oha, plan, progress);
    let planted_us = plant(&mut session, &reference, &mut slowed).await?;
    session.progress.say(&format!(
        "  planted: {planted_us:.1} µs of busy waiting in every read"
    ));

    let subjects = [reference, again, slowed];
    let blocks = session.rounds(&subjects, &mut Reads(&[])).await?;
    let mut manifest = lab.manifest(&subjects);
    manifest.connections = CONNECTIONS;
    manifest.round_trips = same.round_trips;
    lab::complete(&mut manifest, &blocks.records, session.progress.gone());
    let wanted = Wanted {
        task: CALIBRATION.to_owned(),
        exercise: EXERCISE,
        target: CALIBRATION.to_owned(),
        mode: Mode::Thorough,
    };
    let notes = vec![
        "an interval of 95 % misses once in twenty times, so once in twenty times a sound calibration fails"
            .to_owned(),
        format!("the slowed side waits busily for {planted_us:.1} µs in every read"),
        "throughput alone decides: of the other metrics, one in twenty lies apart by chance".to_owned(),
    ];
    let mut result = load::result(
        &subjects,
        &load::against_the_first(&subjects),
        &wanted,
        &session.plan,
        manifest,
        blocks,
        notes,
    );
    result
        .tables
        .push(tables::claims(&claims(&result), "throughput"));
    Ok(result)
}

/// The claims on throughput.
fn claims(result: &ResultFile) -> Vec<Claim> {
    let decides = |side: &str| {
        let metric = result.metric("throughput");
        metric
            .and_then(|metric| metric.comparison(side, REFERENCE).cloned())
            .unwrap_or_else(|| Comparison::invalid(side, REFERENCE, "throughput was not measured"))
    };
    let (same, slowed) = (decides(AGAIN), decides(SLOWED));
    vec![
        Claim {
            claim: "the reference compared with itself shows no difference".to_owned(),
            holds: same.verdict == Verdict::NoDifferenceShown,
            decides: same,
        },
        Claim {
            claim: format!("a planted slowdown of {:.0} % is found", PLANTED * 100.0),
            holds: slowed.verdict == Verdict::Slower,
            decides: slowed,
        },
    ]
}

/// True when every claim held.
pub fn holds(result: &ResultFile) -> bool {
    claims(result).iter().all(|claim| claim.holds)
}

/// Finds the busy microseconds that take away the planned share of throughput: a first guess from what a request costs the
/// whole machine, corrected by what it does.
async fn plant(
    session: &mut Session<'_>,
    reference: &Subject,
    slowed: &mut Subject,
) -> anyhow::Result<f64> {
    session
        .progress
        .part("finding the throughput of the reference");
    let mut whole = block::calibrate(session, reference, &Reads(&[])).await?;
    let mut microseconds = first_guess(whole, process::cores());
    for attempt in 1..=CORRECTIONS {
        set_spin(slowed, microseconds);
        session.progress.part(&format!(
            "planting {microseconds:.1} µs, attempt {attempt} of {CORRECTIONS}"
        ));
        let slow = block::calibrate(session, slowed, &Reads(&[])).await?;
        microseconds = corrected(microseconds, whole, slow);
        whole = f64::midpoint(
            whole,
            block::calibrate(session, reference, &Reads(&[])).await?,
        );
    }
    set_spin(slowed, microseconds);
    Ok(microseconds)
}

fn set_spin(subject: &mut Subject, microseconds: f64) {
    subject.launch.env.retain(|(name, _)| name != SPIN);
    subject
        .launch
        .env
        .push((SPIN.to_owned(), format!("{microseconds:.2}")));
}

/// When the cores are the limit, a request costs `cores / throughput`, and the throughput falls by a share `s` when that
/// grows by `s / (1 - s)`.
fn first_guess(throughput: f64, cores: usize) -> f64 {
    cores as f64 * 1e6 / throughput * PLANTED / (1.0 - PLANTED)
}

/// The planted time in proportion: the cost of a request is taken to grow linearly with it. One step changes it by at most
/// a factor of two, since one measurement is noisy.
fn corrected(microseconds: f64, whole: f64, slow: f64) -> f64 {
    let wanted = PLANTED / (1.0 - PLANTED);
    let got = whole / slow - 1.0;
    let factor = if got > 0.0 { wanted / got } else { 2.0 };
    microseconds * factor.clamp(0.5, 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use workshop_results::file::tests::sample;

    #[test]
    fn the_first_guess_slows_a_machine_that_is_all_busy_by_the_share() {
        // Two cores, 16 000 requests/s: 125 µs of both cores a request.
        let microseconds = first_guess(16_000.0, 2);
        let slowed = 2e6 / (125.0 + microseconds);
        assert!((slowed / 16_000.0 - (1.0 - PLANTED)).abs() < 1e-9);
    }

    #[test]
    fn a_slowdown_that_was_too_small_grows_and_a_right_one_stays() {
        assert!((corrected(20.0, 1000.0, 850.0) - 20.0).abs() < 1e-9);
        assert!(corrected(20.0, 1000.0, 950.0) > 20.0);
        assert!(corrected(20.0, 1000.0, 700.0) < 20.0);
        assert!(
            (corrected(20.0, 1000.0, 1010.0) - 40.0).abs() < 1e-9,
            "noise must not send it to infinity"
        );
    }

    #[test]
    fn the_claims_need_no_difference_here_and_a_slowdown_there() {
        let mut result = sample();
        let comparison = |side: &str, verdict| Comparison {
            verdict,
            reason: None,
            ..Comparison::invalid(side, REFERENCE, "")
        };
        let mut judged = |again, slowed| {
            result.metrics[0].comparisons =
                vec![comparison(AGAIN, again), comparison(SLOWED, slowed)];
            claims(&result)
                .iter()
                .map(|claim| claim.holds)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            judged(Verdict::NoDifferenceShown, Verdict::Slower),
            [true, true]
        );
        assert_eq!(
            judged(Verdict::Faster, Verdict::NoDifferenceShown),
            [false, false]
        );
        assert_eq!(judged(Verdict::Invalid, Verdict::Faster), [false, false]);
    }
}
