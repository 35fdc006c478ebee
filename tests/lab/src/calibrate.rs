//! `just calibrate`: compares the measuring with itself; exit 0 when all claims hold, of many calibrations as often as a good
//! ruler's would; 1 when not.

use crate::measure;
use workshop::cli::CalibrateArgs;
use workshop_base::files;
use workshop_base::outcome::{Outcome, Trouble};
use workshop_base::workspace::Workspace;
use workshop_measure::protocol::lab::{self, Lab};
use workshop_measure::tools::oha::Oha;
use workshop_results::figures::{figure, interval};
use workshop_results::file::{CALIBRATION, Comparison, ROUNDS, ResultFile, TURNS};
use workshop_tasks::calibration::{self, Calibration, Score};

/// Runs the calibration and writes it down; several of them give a score. A series that was ended goes on.
pub async fn run(workspace: &Workspace, args: &CalibrateArgs) -> anyhow::Result<Outcome> {
    Oha::find(workspace)?;
    let data_set = args.result.data_set.unwrap_or_else(lab::usual_data_set);
    let lab = Lab::open(workspace, Some(data_set), data_set).await?;
    if args.turns {
        let result = calibration::turns(&lab).await?;
        let path = measure::place(workspace, &args.result, TURNS);
        measure::write(workspace, &result, &path)?;
        return Ok(Outcome::of(result.invalid.is_empty()));
    }
    let name = if args.rounds { ROUNDS } else { CALIBRATION };
    let path = measure::place(workspace, &args.result, name);
    if args.times == 0 {
        return Trouble::new("nothing was calibrated, by --times 0")
            .next("ask for at least one: just calibrate --times 1")
            .err();
    }
    let calibration = Calibration::new(&lab, args.rounds).await?;
    let mut scores: Vec<Score> = Vec::new();
    let mut found = calibration.run().await?;
    let begun = workspace.own_result(name).with_extension("begun");
    if let Ok(earlier) = ResultFile::read(&begun) {
        scores = calibration::begun(&earlier, &found, args.times);
    }
    loop {
        calibration::count(&mut scores, &found.claims);
        let time = scores.first().map_or(args.times, |score| score.times);
        let comparisons = found.claims.iter().map(|claim| in_words(&claim.found));
        let comparisons = comparisons.collect::<Vec<_>>().join("; ");
        println!("{time} of {}: {comparisons}", args.times);
        if args.times > 1 {
            found.result.tables.push(calibration::table_of(&scores));
        }
        if time >= args.times {
            break;
        }
        // Whatever ends this series, the next one goes on here.
        found.result.write(&begun)?;
        found = calibration.run().await?;
    }
    measure::write(workspace, &found.result, &path)?;
    // A single calibration leaves a longer series as it is.
    if args.times > 1 {
        files::remove(&begun)?;
    }
    Ok(Outcome::of(scores.iter().all(Score::is_enough)))
}

fn in_words(pair: &Comparison) -> String {
    let ratio = pair.ratio.map_or_else(|| "-".to_owned(), figure);
    let within = interval(pair.low, pair.high).unwrap_or_default();
    format!("{} {ratio} ({within}), {}", pair.side, pair.verdict)
}
