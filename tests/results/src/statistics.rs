//! The statistics of a comparison: the geometric mean of the rounds' ratios, and a 95 % interval around it.
//!
//! The interval is a bootstrap over rounds. With five or ten of them the plain percentile bootstrap is too narrow, so the
//! percentiles are moved outwards until the interval is as wide as the t interval would be for normal data: the *expanded
//! percentile interval* of T. Hesterberg, "What Teachers Should Know About the Bootstrap", The American Statistician 69
//! (2015), section 5.3. It cannot reach beyond the extremes of the data, so with n rounds it covers the truth in at most
//! `1 - 2^(1-n)` of all cases: enough for five rounds, not for fewer. Below five, the interval is Student's t on the
//! logarithms, which is honestly wide.

use distrs::{Normal, StudentsT};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

/// Resamples where they cannot all be listed.
const RESAMPLES: usize = 10_000;
/// The largest number of rounds whose `n^n` resamples are all listed: 5^5 = 3 125.
const LISTED: usize = 5;
/// The fewest rounds whose bootstrap can come near the coverage aimed at.
const BOOTSTRAPPED: usize = 5;
/// One minus the coverage aimed at.
const ALPHA: f64 = 0.05;

/// A mean with its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The mean: of ratios the geometric one.
    pub mean: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// The geometric mean of positive numbers; none when there is none, or one is not positive.
pub fn geometric_mean(values: &[f64]) -> Option<f64> {
    let are_positive = values.iter().all(|value| value.is_finite() && *value > 0.0);
    (!values.is_empty() && are_positive).then(|| mean(values.iter().map(|value| value.ln())).exp())
}

/// The arithmetic mean; 0 for nothing.
pub fn mean(values: impl IntoIterator<Item = f64>) -> f64 {
    let add = |(sum, count), value| (sum + value, count + 1.0);
    let (sum, count) = values.into_iter().fold((0.0, 0.0), add);
    if count > 0.0 { sum / count } else { 0.0 }
}

/// The middle value; none when there is none.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        length if length % 2 == 1 => Some(sorted[middle]),
        _ => Some(f64::midpoint(sorted[middle - 1], sorted[middle])),
    }
}

/// The geometric mean of the rounds' ratios with its 95 % interval.
///
/// None with fewer than two ratios, or when one is not positive.
pub fn ratio_interval(ratios: &[f64]) -> Option<Interval> {
    let mean = geometric_mean(ratios)?;
    if ratios.len() < 2 {
        return None;
    }
    let logs: Vec<f64> = ratios.iter().map(|ratio| ratio.ln()).collect();
    if logs.len() < BOOTSTRAPPED {
        let of_logs = mean_interval(&logs)?;
        return Some(Interval {
            mean,
            low: of_logs.low.exp(),
            high: of_logs.high.exp(),
        });
    }
    let mut means = resampled_means(&logs);
    means.sort_by(f64::total_cmp);
    let tail = expanded_tail(logs.len());
    Some(Interval {
        mean,
        low: quantile(&means, tail)?.exp(),
        high: quantile(&means, 1.0 - tail)?.exp(),
    })
}

/// The arithmetic mean with Student's t interval around it; none with fewer than two values.
pub fn mean_interval(values: &[f64]) -> Option<Interval> {
    if values.len() < 2 {
        return None;
    }
    let n = values.len() as f64;
    let mean = mean(values.iter().copied());
    let squares = values.iter().map(|value| (value - mean).powi(2));
    let variance = squares.sum::<f64>() / (n - 1.0);
    let half = -StudentsT::ppf(ALPHA / 2.0, n - 1.0) * (variance / n).sqrt();
    Some(Interval {
        mean,
        low: mean - half,
        high: mean + half,
    })
}

/// The share cut off at each end: `Φ(√(n/(n-1)) · t)` where `t` is the `α/2` quantile of Student's distribution with
/// `n-1` degrees of freedom.
fn expanded_tail(n: usize) -> f64 {
    let degrees = n as f64 - 1.0;
    let t = StudentsT::ppf(ALPHA / 2.0, degrees);
    Normal::cdf((n as f64 / degrees).sqrt() * t, 0.0, 1.0)
}

/// All resamples' means where there are few, else a fixed random choice of them: the same data gives the same interval.
fn resampled_means(values: &[f64]) -> Vec<f64> {
    let n = values.len();
    if n <= LISTED {
        // The digits of a number to the base n are one choice of n values.
        let digit = |number: usize, place: usize| number / n.pow(place as u32) % n;
        let resample = |number| (0..n).map(move |place| values[digit(number, place)]);
        return (0..n.pow(n as u32))
            .map(|number| mean(resample(number)))
            .collect();
    }
    let mut random = SmallRng::seed_from_u64(0x5eed);
    (0..RESAMPLES)
        .map(|_| mean((0..n).map(|_| values[random.random_range(0..n)])))
        .collect()
}

/// The quantile of sorted values, by the inverse of their distribution function; none when there is none.
pub fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let place = (share * sorted.len() as f64).ceil() as usize;
    let last = sorted.len().checked_sub(1)?;
    Some(sorted[place.saturating_sub(1).min(last)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(actual: f64, expected: f64, within: f64) {
        assert!(
            (actual - expected).abs() <= within,
            "{actual} is not within {within} of {expected}"
        );
    }

    #[test]
    fn the_distributions_agree_with_printed_tables() {
        close(Normal::cdf(-1.959_964, 0.0, 1.0), 0.025, 1e-6);
        close(Normal::cdf(1.0, 0.0, 1.0), 0.841_344_746, 1e-8);
        close(Normal::cdf(-3.5, 0.0, 1.0), 0.000_232_629, 1e-8);
        close(StudentsT::ppf(0.025, 1.0), -12.706, 1e-3);
        close(StudentsT::ppf(0.025, 4.0), -2.776_4, 1e-3);
        close(StudentsT::ppf(0.025, 9.0), -2.262_2, 1e-3);
        close(StudentsT::ppf(0.025, 2.0), -4.302_7, 1e-3);
        close(StudentsT::ppf(0.025, 3.0), -3.182_4, 1e-3);
    }

    #[test]
    fn the_mean_of_ratios_is_geometric_so_that_a_half_and_a_double_cancel_out() {
        assert_eq!(
            geometric_mean(&[0.5, 2.0]).map(|mean| (mean * 1e9).round()),
            Some(1e9)
        );
        assert_eq!(geometric_mean(&[]), None);
        assert_eq!(geometric_mean(&[1.0, 0.0]), None);
    }

    #[test]
    fn the_interval_holds_the_mean_and_stays_within_the_data() {
        let ratios = [0.9, 1.0, 1.1, 1.05, 0.97];
        let interval = ratio_interval(&ratios).unwrap();
        assert!(0.9 <= interval.low && interval.low < interval.mean);
        assert!(interval.mean < interval.high && interval.high <= 1.1);
    }

    #[test]
    fn one_round_gives_no_interval() {
        assert_eq!(ratio_interval(&[1.2]), None);
    }

    #[test]
    fn ratios_without_spread_give_an_interval_without_width() {
        let interval = ratio_interval(&[2.0; 7]).unwrap();
        close(interval.low, 2.0, 1e-9);
        close(interval.high, 2.0, 1e-9);
    }

    #[test]
    fn the_interval_of_the_inverse_is_the_inverse_of_the_interval() {
        let ratios = [0.8, 0.85, 0.9, 0.82, 0.88];
        let inverse = ratios.map(f64::recip);
        let (one, other) = (
            ratio_interval(&ratios).unwrap(),
            ratio_interval(&inverse).unwrap(),
        );
        close(one.low, 1.0 / other.high, 0.005);
        close(one.high, 1.0 / other.low, 0.005);
    }

    /// How often the interval holds the true ratio, in a simulation with normal noise of 5 % a block on each side.
    fn coverage(rounds: usize, trials: u32) -> f64 {
        let mut random = SmallRng::seed_from_u64(42);
        // The sum of twelve uniform numbers, less six, is close enough to normal.
        let mut noise = || (0..12).map(|_| random.random_range(0.0..1.0)).sum::<f64>() - 6.0;
        let held = (0..trials)
            .filter(|_| {
                let ratios: Vec<f64> = (0..rounds)
                    .map(|_| (0.05 * (noise() - noise())).exp())
                    .collect();
                ratio_interval(&ratios)
                    .is_some_and(|interval| interval.low <= 1.0 && 1.0 <= interval.high)
            })
            .count();
        held as f64 / f64::from(trials)
    }

    #[test]
    fn five_rounds_cover_the_truth_nineteen_times_in_twenty_or_nearly() {
        let coverage = coverage(5, 400);
        assert!((0.90..=0.98).contains(&coverage), "{coverage}");
    }

    #[test]
    fn fewer_than_five_rounds_cover_it_too_by_a_wide_interval() {
        for rounds in [2, 3] {
            let coverage = coverage(rounds, 400);
            assert!(
                (0.92..=0.98).contains(&coverage),
                "{rounds} rounds: {coverage}"
            );
        }
        let interval = ratio_interval(&[2.9, 3.1]).unwrap();
        assert!(interval.low < 2.5 && interval.high > 3.6, "{interval:?}");
    }

    #[test]
    fn ten_rounds_cover_it_as_well() {
        let coverage = coverage(10, 150);
        assert!((0.90..=0.99).contains(&coverage), "{coverage}");
    }

    #[test]
    fn a_slowdown_of_fifteen_percent_is_found_in_ten_noisy_rounds() {
        let ratios = [0.83, 0.9, 0.8, 0.86, 0.84, 0.88, 0.79, 0.85, 0.91, 0.87];
        let interval = ratio_interval(&ratios).unwrap();
        assert!(interval.high < 1.0, "{interval:?}");
        close(interval.mean, 0.852, 0.002);
    }
}
