//! `just calibrate`: compares the measuring with itself; exit 0 when all claims hold, 1 when not.

use crate::cli::CalibrateArgs;
use crate::commands::measure;
use workshop_base::outcome::Outcome;
use workshop_base::workspace::Workspace;
use workshop_measure::protocol::lab::{self, Lab};
use workshop_measure::tools::oha::Oha;
use workshop_results::figures::{figure, interval};
use workshop_results::file::{CALIBRATION, Comparison};
use workshop_tasks::calibration::{Calibration, Claim};

/// The share that is planted where a duet is compared with turns: large, so that its ratio is sure in both.
const LARGE: f64 = 0.2;

/// Runs the calibration and writes it down; several of them give a score.
pub async fn run(workspace: &Workspace, args: &CalibrateArgs) -> anyhow::Result<Outcome> {
    Oha::find(workspace)?;
    let data_set = args.result.data_set.unwrap_or_else(lab::usual_data_set);
    let lab = Lab::open(workspace, Some(data_set), data_set).await?;
    let calibration = Calibration::new(&lab).await?;
    if args.turns {
        return turns(&calibration).await;
    }
    let mut held: Vec<(String, usize)> = Vec::new();
    for time in 1..=args.times {
        let found = calibration.run().await?;
        if args.times == 1 {
            let path = measure::place(workspace, &args.result, CALIBRATION);
            measure::write(workspace, &found.result, &path)?;
            return Ok(Outcome::of(found.claims.iter().all(Claim::holds)));
        }
        let comparisons = found.claims.iter().map(|claim| in_words(&claim.found));
        println!(
            "{time} of {}: {}",
            args.times,
            comparisons.collect::<Vec<_>>().join("; ")
        );
        held.resize_with(found.claims.len(), Default::default);
        for ((words, held), claim) in held.iter_mut().zip(&found.claims) {
            *words = claim.in_words();
            *held += usize::from(claim.holds());
        }
    }
    for (words, held) in &held {
        println!("{words}: {held} of {}", args.times);
    }
    let enough = held.iter().all(|(_, held)| held * 20 >= args.times * 19);
    Ok(Outcome::of(enough))
}

/// Does a duet tell the same as turns?
async fn turns(calibration: &Calibration<'_>) -> anyhow::Result<Outcome> {
    let [duet, turns] = calibration.turns(LARGE).await?;
    println!("both at once:         {}", in_words(&duet));
    println!("one after the other:  {}", in_words(&turns));
    let ends = duet.low.zip(turns.high).zip(turns.low.zip(duet.high));
    let agree = ends.is_some_and(|((a, b), (c, d))| a <= b && c <= d);
    println!(
        "the intervals {}",
        if agree { "agree" } else { "do not agree" }
    );
    Ok(Outcome::of(agree))
}

fn in_words(pair: &Comparison) -> String {
    let ratio = pair.ratio.map_or_else(|| "-".to_owned(), figure);
    let within = interval(pair.low, pair.high).unwrap_or_default();
    format!("{} {ratio} ({within}), {}", pair.side, pair.verdict)
}
