//! The reader's predictions of exercise 1: read from `predictions.toml`, and compared with what was measured.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use toml::Table;

use crate::file::{JudgedPrediction, Metric, ResultFile, Verdict};
use crate::key::{Key, START_UP, THROUGHPUT};
use workshop_base::exercise::{Catalogue, PREDICTED};
use workshop_base::files;
use workshop_base::outcome::Trouble;
use workshop_base::target::Language;
use workshop_base::workspace::Workspace;

/// A prediction has held when it was within this factor of the truth.
pub const FACTOR: f64 = 2.0;

/// One prediction, filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    /// The metric's key.
    pub key: Key,
    /// Rust divided by Kotlin.
    pub ratio: f64,
    /// How sure the reader is that the truth is within a factor of two, in percent.
    pub confidence: f64,
}

/// Where the reader writes predictions: `exercises/01-predict/predictions.toml`.
pub fn path(workspace: &Workspace) -> anyhow::Result<PathBuf> {
    let starter = Catalogue::read(workspace)?.get(1)?.starter(workspace);
    Ok(starter.join("predictions.toml"))
}

/// Reads the predictions that are filled in; a `"?"` is left out. Anything else is an error, so that no prediction gets lost.
pub fn read(path: &Path) -> anyhow::Result<Vec<Prediction>> {
    let text = files::text(path)?;
    parse(&text).map_err(|error| {
        Trouble::new(format!("{} is malformed: {error}", path.display()))
            .expected("a table like [throughput] with ratio = 0.5 and confidence = 80 for each metric, with a point in a number, and no quotes")
            .next("just check exercise-1")
            .into()
    })
}

fn parse(text: &str) -> Result<Vec<Prediction>, String> {
    let file: Table = toml::from_str(text).map_err(|error| error.to_string())?;
    let mut predictions = Vec::new();
    for name in PREDICTED {
        let number = |key, range| number(&file, name, key, range);
        let ratio = number("ratio", f64::MIN_POSITIVE..=f64::MAX)?;
        let confidence = number("confidence", 0.0..=100.0)?;
        predictions.extend(ratio.zip(confidence).map(|(ratio, confidence)| Prediction {
            key: Key::of_data(name),
            ratio,
            confidence,
        }));
    }
    Ok(predictions)
}

/// A number of the file; none where it's left out, or a question mark still.
fn number(
    file: &Table,
    table: &str,
    key: &str,
    range: RangeInclusive<f64>,
) -> Result<Option<f64>, String> {
    let Some(value) = file.get(table).and_then(|table| table.get(key)) else {
        return Ok(None);
    };
    let number = value.clone().try_into().ok();
    match number.filter(|number| range.contains(number)) {
        Some(number) => Ok(Some(number)),
        None if value.as_str() == Some("?") => Ok(None),
        None => Err(format!("[{table}] {key} = {value}")),
    }
}

/// Compares predictions with a measurement. An invalid one judges none, nor does one without Kotlin; a quick one judges
/// what has a verdict there. What was predicted is a service under load; a measurement without load speaks for the start alone.
pub fn judged_by(predictions: &[Prediction], result: &ResultFile) -> Vec<JudgedPrediction> {
    let kotlin = result.sides_in(Language::Kotlin).next();
    let (Some(rust), Some(kotlin)) = (result.asked_for(), kotlin) else {
        return Vec::new();
    };
    if !result.invalid.is_empty() {
        return Vec::new();
    }
    let mut judged = judge(predictions, &result.metrics, &rust.id, &kotlin.id);
    if result.metric(&THROUGHPUT).is_none() {
        judged.retain(|judged| judged.key == START_UP);
    }
    judged
}

/// Compares predictions with the ratios of two sides; metrics that were not measured or are invalid are left out.
fn judge(
    predictions: &[Prediction],
    metrics: &[Metric],
    side: &str,
    against: &str,
) -> Vec<JudgedPrediction> {
    predictions
        .iter()
        .filter_map(|prediction| {
            let metric = metrics.iter().find(|metric| metric.key == prediction.key)?;
            let pair = metric.comparison(side, against)?;
            let measured = pair.ratio.filter(|_| pair.verdict != Verdict::NotJudged)?;
            let factor = (prediction.ratio / measured).max(measured / prediction.ratio);
            Some(JudgedPrediction {
                key: prediction.key.clone(),
                predicted: prediction.ratio,
                confidence: prediction.confidence,
                measured,
                factor,
                held: factor <= FACTOR,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::{Better, Comparison};
    use crate::key::{MEMORY, METRICS, P99, SIZE};

    fn metric(key: Key, ratio: Option<f64>) -> Metric {
        let comparison = Comparison {
            ratio,
            verdict: Verdict::Slower,
            ..Comparison::invalid("rust", "kotlin", "")
        };
        Metric {
            name: key.to_string(),
            key,
            unit: String::new(),
            how: String::new(),
            better: Better::Lower,
            headline: true,
            values: Vec::new(),
            comparisons: vec![comparison],
        }
    }

    #[test]
    fn what_is_predicted_is_measured() {
        assert!(
            PREDICTED
                .iter()
                .all(|key| METRICS.contains(&Key::of_data(key)))
        );
    }

    #[test]
    fn what_is_not_filled_in_is_no_prediction() {
        let text = "[throughput]\nratio = 3\nconfidence = 80\n[memory]\nratio = \"?\"\nconfidence = \"?\"\n";
        let predictions = parse(text).unwrap();
        assert_eq!(
            predictions,
            [Prediction {
                key: THROUGHPUT,
                ratio: 3.0,
                confidence: 80.0
            }]
        );
    }

    #[test]
    fn what_is_no_prediction_is_named() {
        for (wrong, named) in [
            ("ratio = -1.0\nconfidence = 80", "[p99] ratio = -1.0"),
            ("ratio = 0.3\nconfidence = 130", "[p99] confidence = 130"),
            ("ratio = \"0,3\"\nconfidence = 80", "[p99] ratio = \"0,3\""),
            ("ratio = 0,3\nconfidence = 80", "line 2"),
        ] {
            let error = parse(&format!("[p99]\n{wrong}\n")).unwrap_err();
            assert!(error.contains(named), "{error}");
        }
        let from_windows = "\u{feff}[p99]\r\nratio = 0.3\r\nconfidence = 80\r\n";
        assert_eq!(parse(from_windows).unwrap().len(), 1);
    }

    #[test]
    fn a_prediction_holds_within_a_factor_of_two_in_either_direction() {
        let predict = |ratio| Prediction {
            key: P99,
            ratio,
            confidence: 70.0,
        };
        let judged = judge(
            &[predict(0.2), predict(0.05), predict(0.11), predict(0.21)],
            &[metric(P99, Some(0.1))],
            "rust",
            "kotlin",
        );
        assert_eq!(
            judged.iter().map(|judged| judged.held).collect::<Vec<_>>(),
            [true, true, true, false]
        );
        assert_eq!(judged[1].factor, 2.0);
    }

    #[test]
    fn an_invalid_metric_judges_nobody() {
        let prediction = Prediction {
            key: P99,
            ratio: 0.5,
            confidence: 70.0,
        };
        assert_eq!(
            judge(
                &[prediction],
                &[metric(P99, None), metric(SIZE, Some(1.0))],
                "rust",
                "kotlin"
            ),
            []
        );
    }

    #[test]
    fn a_measurement_without_load_judges_the_start_alone() {
        let predictions = [START_UP, MEMORY].map(|key| Prediction {
            key,
            ratio: 0.5,
            confidence: 70.0,
        });
        let mut result = crate::file::sample();
        let mut measured = |keys: &[Key]| {
            let compared = |key: &Key| {
                let mut metric = result.metrics[0].clone();
                metric.key = key.clone();
                metric
            };
            result.metrics = keys.iter().map(compared).collect();
            let judged = judged_by(&predictions, &result);
            judged.into_iter().map(|one| one.key).collect::<Vec<_>>()
        };
        assert_eq!(
            measured(&[START_UP, MEMORY, THROUGHPUT]),
            [START_UP, MEMORY]
        );
        assert_eq!(measured(&[START_UP, MEMORY]), [START_UP]);
    }
}
