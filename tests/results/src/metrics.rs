//! From blocks to metrics: what each metric is called, and how the sides' values and ratios come out of the rounds.

use serde::Deserialize;

use crate::file::{Better, BlockRecord, Comparison, Metric, SideValue, Verdict};
use crate::key::Key;
use crate::statistics::{Interval, geometric_mean, mean, ratio_interval};

/// What is said of a metric wherever it appears.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Definition {
    /// The stable key.
    pub key: Key,
    /// For people.
    pub name: String,
    /// The unit of the values.
    pub unit: String,
    /// How it is taken, in half a sentence.
    pub how: String,
    /// Which way is better.
    #[serde(rename = "sense", default = "lower")]
    pub better: Better,
    /// Shown first.
    #[serde(default)]
    pub headline: bool,
    /// How blocks become one value, and whether ratios make sense.
    #[serde(default)]
    pub kind: MetricKind,
}

/// Most metrics are times.
fn lower() -> Better {
    Better::Lower
}

/// What a person begins to notice, in milliseconds.
pub const SLOW_MS: f64 = 100.0;

/// The nature of a metric.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MetricKind {
    /// Positive, and it varies from block to block.
    #[default]
    Varying,
    /// The same, measured by duets: those have enough rounds in a quick run as well.
    Duet,
    /// Positive, and the same in every block: a file's size. An interval would say nothing.
    Constant,
    /// It can be zero, so there is an arithmetic mean and no ratio.
    #[serde(rename = "zero")]
    MayBeZero,
}

/// Turns blocks into metrics. `pairs` names the comparisons, the side above the fraction bar first; those who never met in a round
/// aren't compared. Metrics that no block speaks for are left out. A quick run has so few rounds that what varies from one to the next
/// has ratios and no verdicts.
pub fn from_blocks(
    definitions: &[Definition],
    blocks: &[BlockRecord],
    sides: &[String],
    pairs: &[(String, String)],
    is_quick: bool,
) -> Vec<Metric> {
    let metrics = definitions.iter().filter_map(|definition| {
        let key = &definition.key;
        let speaks = |block: &&BlockRecord| {
            block.values.contains_key(key) || block.invalid.contains_key(key)
        };
        let blocks: Vec<&BlockRecord> = blocks.iter().filter(speaks).collect();
        let of = |side: &str| -> Vec<&BlockRecord> {
            let of_side = blocks.iter().filter(|block| block.side == side);
            of_side.copied().collect()
        };
        // A side that has no part in this is no comparison that failed.
        let comparisons = pairs
            .iter()
            .filter(|_| definition.kind != MetricKind::MayBeZero)
            .map(|(side, against)| (of(side), of(against)))
            .filter(|(above, below)| !above.is_empty() && !below.is_empty())
            .filter_map(|(above, below)| compare(definition, &above, &below, is_quick));
        (!blocks.is_empty()).then(|| Metric {
            key: key.clone(),
            name: definition.name.clone(),
            unit: definition.unit.clone(),
            how: definition.how.clone(),
            better: definition.better,
            headline: definition.headline,
            values: sides
                .iter()
                .filter_map(|side| side_value(definition, side, &of(side)))
                .collect(),
            comparisons: comparisons.collect(),
        })
    });
    metrics.collect()
}

fn side_value(definition: &Definition, side: &str, blocks: &[&BlockRecord]) -> Option<SideValue> {
    let values = blocks
        .iter()
        .filter_map(|block| block.valid(&definition.key));
    let values: Vec<f64> = values.collect();
    let value = match definition.kind {
        MetricKind::MayBeZero if values.is_empty() => None,
        MetricKind::MayBeZero => Some(mean(values.iter().copied())),
        MetricKind::Varying | MetricKind::Duet | MetricKind::Constant => geometric_mean(&values),
    }?;
    Some(SideValue {
        side: side.to_owned(),
        value,
        least: values.iter().copied().fold(f64::INFINITY, f64::min),
        most: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        blocks: values.len(),
    })
}

/// How many of so many rounds must be valid for a comparison to count.
fn needed(rounds: usize) -> usize {
    (rounds * 3).div_ceil(5).max(rounds.min(2)).max(1)
}

/// The blocks of one side compared with those of the other, round by round; none where they have no round in common.
fn compare(
    definition: &Definition,
    above: &[&BlockRecord],
    below: &[&BlockRecord],
    is_quick: bool,
) -> Option<Comparison> {
    let (side, against, key) = (&above[0].side, &below[0].side, &definition.key);
    let (mut rounds, mut ratios, mut reasons) = (0, Vec::new(), Vec::new());
    for one in above {
        let Some(other) = below.iter().find(|other| other.round == one.round) else {
            continue;
        };
        rounds += 1;
        reasons.extend([one, other].into_iter().filter_map(|block| {
            let reason = block.invalid.get(key)?;
            Some(format!("round {}, {}: {reason}", block.round, block.side))
        }));
        let value = |block: &BlockRecord| block.valid(key).filter(|value| *value > 0.0);
        ratios.extend(value(one).zip(value(other)).map(|(one, other)| one / other));
    }
    if rounds == 0 {
        return None;
    }
    let counted = ratios.len();
    let needed = needed(rounds);
    if counted < needed {
        let reason = reasons.into_iter().next();
        let reason = reason.unwrap_or_else(|| "it could not be measured on both sides".to_owned());
        let reason = format!("{counted} of {rounds} rounds count, {needed} are needed; {reason}");
        return Some(Comparison {
            rounds: counted,
            ..Comparison::invalid(side, against, reason)
        });
    }
    let mean = geometric_mean(&ratios)?;
    let (low, high) = (mean, mean);
    let alone = Comparison {
        low: None,
        high: None,
        ..judged(
            side,
            against,
            Interval { mean, low, high },
            counted,
            definition.better,
        )
    };
    Some(match definition.kind {
        MetricKind::Constant => alone,
        MetricKind::Varying if is_quick => Comparison {
            verdict: Verdict::NotJudged,
            ..alone
        },
        _ => compared(side, against, &ratios, definition.better),
    })
}

/// One thing compared with another by the times that both take, round by round.
pub fn compared_times(side: &str, times: &[f64], against: &str, others: &[f64]) -> Comparison {
    let ratios = times.iter().zip(others).map(|(time, other)| time / other);
    compared(side, against, &ratios.collect::<Vec<_>>(), Better::Lower)
}

/// The smallest difference that counts, as a share. The layout of a program in memory alone moves it by a percent or two, and
/// nobody decides anything on as little; what is nearer to 1 is no difference, however narrow its interval.
pub const COUNTS: f64 = 0.02;

/// What a ratio and its interval allow to say.
pub fn verdict(interval: Interval, better: Better) -> Verdict {
    let counts = interval.mean.max(1.0 / interval.mean) >= 1.0 + COUNTS;
    let more = counts && interval.low > 1.0;
    let less = counts && interval.high < 1.0;
    match better {
        Better::Higher if more => Verdict::Faster,
        Better::Higher if less => Verdict::Slower,
        Better::Lower if less => Verdict::Faster,
        Better::Lower if more => Verdict::Slower,
        Better::Less if less => Verdict::Less,
        Better::Less if more => Verdict::More,
        _ => Verdict::NoDifferenceShown,
    }
}

/// One side compared with another by ratios of their own, where the rounds are not those of blocks.
pub fn compared(side: &str, against: &str, ratios: &[f64], better: Better) -> Comparison {
    match ratio_interval(ratios) {
        Some(interval) => judged(side, against, interval, ratios.len(), better),
        None => Comparison::invalid(side, against, "one round gives no interval"),
    }
}

fn judged(
    side: &str,
    against: &str,
    interval: Interval,
    rounds: usize,
    better: Better,
) -> Comparison {
    Comparison {
        side: side.to_owned(),
        against: against.to_owned(),
        ratio: Some(interval.mean),
        low: Some(interval.low),
        high: Some(interval.high),
        rounds,
        verdict: verdict(interval, better),
        reason: None,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::key::{MEMORY, SIZE, THROUGHPUT, WARM_UP};

    fn block(round: usize, side: &str, values: &[(Key, f64)]) -> BlockRecord {
        BlockRecord {
            round,
            place: 0,
            side: side.to_owned(),
            values: values.iter().cloned().collect(),
            invalid: BTreeMap::new(),
        }
    }

    fn rounds(kotlin: &[f64], rust: &[f64]) -> Vec<BlockRecord> {
        let pairs = kotlin.iter().zip(rust).enumerate();
        pairs
            .flat_map(|(round, (kotlin, rust))| {
                [
                    block(round + 1, "kotlin", &[(THROUGHPUT, *kotlin), (SIZE, 20.0)]),
                    block(round + 1, "rust", &[(THROUGHPUT, *rust), (SIZE, 5.0)]),
                ]
            })
            .collect()
    }

    fn metrics(blocks: &[BlockRecord]) -> Vec<Metric> {
        judged_as(blocks, false)
    }

    fn judged_as(blocks: &[BlockRecord], is_quick: bool) -> Vec<Metric> {
        let sides = ["kotlin".to_owned(), "rust".to_owned()];
        let pairs = [("rust".to_owned(), "kotlin".to_owned())];
        let definition = |key: Key, better, kind| Definition {
            name: key.to_string(),
            key,
            unit: "units".to_owned(),
            how: "in a test".to_owned(),
            better,
            headline: true,
            kind,
        };
        let definitions = [
            definition(THROUGHPUT, Better::Higher, MetricKind::Varying),
            definition(MEMORY, Better::Less, MetricKind::Varying),
            definition(SIZE, Better::Less, MetricKind::Constant),
            definition(WARM_UP, Better::Lower, MetricKind::MayBeZero),
        ];
        from_blocks(&definitions, blocks, &sides, &pairs, is_quick)
    }

    fn comparison<'a>(metrics: &'a [Metric], key: &Key) -> &'a Comparison {
        &metrics
            .iter()
            .find(|metric| metric.key == *key)
            .unwrap()
            .comparisons[0]
    }

    #[test]
    fn three_times_the_throughput_is_faster() {
        let metrics = metrics(&rounds(
            &[5000.0, 5100.0, 4900.0],
            &[15000.0, 15400.0, 14800.0],
        ));
        let comparison = comparison(&metrics, &THROUGHPUT);
        assert_eq!(comparison.verdict, Verdict::Faster);
        assert!((comparison.ratio.unwrap() - 3.0).abs() < 0.05);
        assert!(comparison.low.unwrap() <= comparison.ratio.unwrap());
    }

    #[test]
    fn less_of_what_should_be_small_is_better_and_its_interval_is_left_out_where_nothing_varies() {
        let metrics = metrics(&rounds(&[1.0; 3], &[1.0; 3]));
        let size = comparison(&metrics, &SIZE);
        assert_eq!(
            (size.verdict, size.ratio, size.low),
            (Verdict::Less, Some(0.25), None)
        );
    }

    #[test]
    fn an_interval_that_holds_one_shows_no_difference() {
        let metrics = metrics(&rounds(&[100.0, 102.0, 98.0], &[101.0, 99.0, 100.0]));
        assert_eq!(
            comparison(&metrics, &THROUGHPUT).verdict,
            Verdict::NoDifferenceShown
        );
    }

    #[test]
    fn a_difference_that_is_too_small_to_count_is_none_however_sure() {
        let close = metrics(&rounds(&[1000.0, 1001.0, 999.0], &[991.0, 992.0, 990.0]));
        let throughput = comparison(&close, &THROUGHPUT);
        assert!(throughput.high.unwrap() < 1.0, "{throughput:?}");
        assert_eq!(throughput.verdict, Verdict::NoDifferenceShown);
    }

    #[test]
    fn a_slower_port_is_called_slower() {
        let metrics = metrics(&rounds(&[100.0, 101.0, 99.0], &[50.0, 51.0, 49.0]));
        assert_eq!(comparison(&metrics, &THROUGHPUT).verdict, Verdict::Slower);
    }

    #[test]
    fn a_round_with_a_broken_gate_is_left_out_and_too_few_rounds_are_invalid_with_the_reason() {
        let mut blocks = rounds(&[100.0, 101.0, 99.0], &[300.0, 310.0, 290.0]);
        blocks[1].invalid.insert(
            THROUGHPUT,
            "12 of 900 answers had status 503, not 200".to_owned(),
        );
        let kept = metrics(&blocks);
        assert_eq!(comparison(&kept, &THROUGHPUT).rounds, 2);
        assert_eq!(kept[0].values[1].blocks, 2);
        blocks[3].invalid = blocks[1].invalid.clone();
        let refused = metrics(&blocks);
        let refused = comparison(&refused, &THROUGHPUT);
        assert_eq!(refused.verdict, Verdict::Invalid);
        assert_eq!(refused.ratio, None);
        let reason = refused.reason.as_deref().unwrap();
        assert!(
            reason.contains("1 of 3 rounds") && reason.contains("status 503"),
            "{reason}"
        );
    }

    #[test]
    fn a_quick_run_has_ratios_and_judges_sizes_only() {
        let metrics = judged_as(&rounds(&[100.0], &[300.0]), true);
        let throughput = comparison(&metrics, &THROUGHPUT);
        assert_eq!(throughput.verdict, Verdict::NotJudged);
        assert_eq!((throughput.low, throughput.reason.as_ref()), (None, None));
        assert!((throughput.ratio.unwrap() - 3.0).abs() < 1e-9);
        assert_eq!(comparison(&metrics, &SIZE).verdict, Verdict::Less);
    }

    #[test]
    fn sides_that_never_met_are_not_compared() {
        let mut blocks = rounds(&[100.0; 2], &[300.0; 2]);
        blocks.retain(|block| (block.side == "rust") == (block.round == 2));
        assert!(
            metrics(&blocks)
                .iter()
                .all(|one| one.comparisons.is_empty())
        );
    }

    #[test]
    fn most_rounds_must_be_valid() {
        assert_eq!([0, 1, 2, 5, 10].map(needed), [1, 1, 2, 3, 6]);
    }

    #[test]
    fn what_was_not_measured_is_left_out() {
        let metrics = metrics(&rounds(&[1.0; 2], &[1.0; 2]));
        assert!(metrics.iter().all(|metric| metric.key != MEMORY));
    }

    #[test]
    fn what_may_be_zero_has_a_mean_and_no_ratio() {
        let blocks = [
            block(1, "kotlin", &[(WARM_UP, 6.0)]),
            block(1, "rust", &[(WARM_UP, 0.0)]),
            block(2, "rust", &[(WARM_UP, 1.0)]),
        ];
        let metrics = metrics(&blocks);
        assert_eq!(metrics[0].values[1].value, 0.5);
        assert!(metrics[0].comparisons.is_empty());
    }

    #[test]
    fn times_are_held_against_others_round_by_round() {
        let comparison = compared_times("program", &[1.5, 1.6, 3.2], "true", &[1.0, 1.0, 2.0]);
        let ratio = comparison.ratio.unwrap_or_default();
        assert!((1.5..1.6).contains(&ratio), "{ratio}");
        assert_eq!(
            (comparison.rounds, comparison.verdict),
            (3, Verdict::Slower)
        );
        assert_eq!(
            compared_times("program", &[1.5], "true", &[1.0]).verdict,
            Verdict::Invalid
        );
    }
}
