//! Does a service grow for as long as it runs? The slope of its memory with a 95 % interval, and what that allows to say.
//!
//! Memory is no series of independent values: an allocator grows in steps, a collector draws a saw. A regression takes what is
//! left beside its line for independent, so its interval would be much too narrow. Here the series is cut into a few batches of
//! neighboring values, and the *increments* between the means of neighboring batches give the slope and Student's t interval
//! around it. That is the interval of the drift of a random walk (R. J. Hyndman and G. Athanasopoulos, "Forecasting: Principles
//! and Practice", 3rd edition, section 5.2, the drift method), taken over batch means (A. M. Law, "Simulation Modeling and
//! Analysis", 5th edition, section 9.5.3). A random walk is what memory is at worst: it keeps what it once took. There the interval
//! holds the true slope in a little more than nine of ten cases, as a test counts. Where memory only varies around a level,
//! neighboring increments cancel out, and the interval is too wide rather than too narrow.
//!
//! - A **step** is one increment among others without any, so the interval holds 0: it never counts as growth.
//! - A **tooth** of a saw has to be shorter than the judged part; that is then longer than what rises once.
//! - A heap that **fills up** after the start grows ever more slowly. The first half of what a process has served isn't judged, and
//!   what slows down within the other half, so that it may come to rest, does not count as growth yet.

use std::fmt;

use crate::statistics::{Interval, mean, mean_interval};

/// The smallest slope that counts, in bytes per request: at a thousand requests per second it makes less than 2 GB in a day. What
/// is less isn't told from none by a run that somebody waits for.
pub const COUNTS: f64 = 20.0;
/// How many batches the judged part has. With more, each would be shorter than what varies in it; with fewer, Student's
/// distribution has hardly any degrees of freedom.
const BATCHES: usize = 6;
/// The fewest values of a batch.
const SHORTEST: usize = 2;
/// The fewest increments that are judged.
const FEWEST: usize = 3;
/// What grows in the later increments less than this share of what it grew in the earlier ones may come to rest.
const SLOWING: f64 = 0.75;

/// What can be said of a slope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Growth {
    /// The whole interval is below the smallest slope that counts.
    Flat,
    /// The whole interval is above it, and the growth does not slow down.
    Grows,
    /// Neither: more requests will tell.
    Unclear,
}

impl fmt::Display for Growth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Growth::Flat => "flat",
            Growth::Grows => "grows",
            Growth::Unclear => "cannot tell yet",
        })
    }
}

/// A slope that was judged.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JudgedGrowth {
    /// In bytes per request; none while there is too little to judge.
    pub slope: Option<Interval>,
    /// What can be said of it.
    pub growth: Growth,
}

/// Judges what was seen of one process: the requests that it had served, and its memory then, in bytes. The first half is left out, and so
/// are the first `settles` requests.
pub fn judge(series: &[(f64, f64)], settles: f64) -> JudgedGrowth {
    let last = series.last().map_or(0.0, |(served, _)| *served);
    let left_out = settles.max(last / 2.0);
    let first = series.partition_point(|(served, _)| *served <= left_out);
    let increments = increments(&series[first..]);
    let slope = mean_interval(&increments).filter(|_| increments.len() >= FEWEST);
    let growth = match slope {
        Some(slope) if slope.high < COUNTS => Growth::Flat,
        Some(slope) if slope.low > COUNTS && keeps_on(&increments) => Growth::Grows,
        _ => Growth::Unclear,
    };
    JudgedGrowth { slope, growth }
}

/// The slopes between the means of neighboring batches, in bytes per request.
fn increments(part: &[(f64, f64)]) -> Vec<f64> {
    let length = (part.len() / BATCHES).max(SHORTEST);
    let count = part.len() / length;
    let batch = |number: usize| {
        let (first, end) = (
            number * part.len() / count,
            (number + 1) * part.len() / count,
        );
        let batch = &part[first..end];
        let served = mean(batch.iter().map(|(served, _)| *served));
        (served, mean(batch.iter().map(|(_, bytes)| *bytes)))
    };
    let means: Vec<(f64, f64)> = (0..count).map(batch).collect();
    let slope = |pair: &[(f64, f64)]| (pair[1].1 - pair[0].1) / (pair[1].0 - pair[0].0);
    means.windows(2).map(slope).collect()
}

/// True when the later increments are about as large as the earlier ones.
fn keeps_on(increments: &[f64]) -> bool {
    let half = increments.len() / 2;
    let earlier = mean(increments[..half].iter().copied());
    let later = mean(increments[increments.len() - half..].iter().copied());
    later >= SLOWING * earlier
}

#[cfg(test)]
mod tests {
    use rand::rngs::SmallRng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    const MB: f64 = 1e6;
    /// Requests in a chunk, and those that a process settles in.
    const CHUNK: f64 = 50_000.0;
    const SETTLES: f64 = 100_000.0;

    type Series = Vec<(f64, f64)>;

    /// The memory after each chunk, by how many requests were served.
    fn series(chunks: usize, chunk: f64, bytes: impl Fn(f64) -> f64) -> Series {
        let served = (1..=chunks).map(|number| number as f64 * chunk);
        served.map(|served| (served, bytes(served))).collect()
    }

    /// Noise that is close enough to normal, with this standard deviation, part of which stays from one value to the next.
    fn noisy(series: Series, deviation: f64, stays: f64, random: &mut SmallRng) -> Series {
        let mut noise = 0.0;
        let fresh = deviation * (1.0 - stays * stays).sqrt();
        let add = |(served, bytes)| {
            let normal = (0..12).map(|_| random.random_range(0.0..1.0)).sum::<f64>() - 6.0;
            noise = stays * noise + fresh * normal;
            (served, bytes + noise)
        };
        series.into_iter().map(add).collect()
    }

    fn random() -> SmallRng {
        SmallRng::seed_from_u64(42)
    }

    fn growth(series: &Series) -> Growth {
        judge(series, SETTLES).growth
    }

    #[test]
    fn memory_that_varies_around_a_level_is_flat() {
        let mut random = random();
        for stays in [0.0, 0.5, 0.9] {
            let level = series(60, CHUNK, |_| 20.0 * MB);
            let varies = noisy(level, 0.5 * MB, stays, &mut random);
            assert_eq!(growth(&varies), Growth::Flat, "{stays}");
        }
    }

    #[test]
    fn a_kilobyte_per_request_is_found_within_200_000_requests() {
        let mut random = random();
        for _ in 0..100 {
            let leak = series(40, 5_000.0, |served| 20.0 * MB + 1024.0 * served);
            let judged = judge(&noisy(leak, 0.5 * MB, 0.5, &mut random), SETTLES);
            assert_eq!(judged.growth, Growth::Grows, "{judged:?}");
            let slope = judged.slope.unwrap();
            assert!((900.0..1150.0).contains(&slope.mean), "{slope:?}");
        }
    }

    #[test]
    fn a_slope_that_counts_is_found_and_one_that_does_not_is_none() {
        let leak = |bytes: f64| series(60, CHUNK, move |served| 20.0 * MB + bytes * served);
        let judged = |bytes| growth(&noisy(leak(bytes), 0.3 * MB, 0.5, &mut random()));
        assert_eq!(judged(40.0), Growth::Grows);
        assert_eq!(judged(5.0), Growth::Flat);
        assert_eq!(judged(-40.0), Growth::Flat);
    }

    #[test]
    fn the_saw_of_a_collector_never_counts_as_growth_whatever_its_teeth() {
        for length in 2..=15 {
            for phase in 0..length {
                let tooth = |served: f64| (served / CHUNK + f64::from(phase)) % f64::from(length);
                let saw = series(60, CHUNK, |served| 200.0 * MB + 4.0 * MB * tooth(served));
                let judged = judge(&saw, SETTLES);
                assert_ne!(judged.growth, Growth::Grows, "{length} {phase} {judged:?}");
            }
        }
    }

    #[test]
    fn a_saw_with_many_teeth_is_flat() {
        let saw = series(600, CHUNK, |served| {
            200.0 * MB + 4.0 * MB * ((served / CHUNK) % 7.0)
        });
        assert_eq!(growth(&saw), Growth::Flat);
    }

    #[test]
    fn a_step_is_no_growth_wherever_it_comes_and_is_forgotten_in_time() {
        for at in 1..60 {
            let step = series(60, CHUNK, |served| {
                20.0 * MB
                    + if served > f64::from(at) * CHUNK {
                        64.0 * MB
                    } else {
                        0.0
                    }
            });
            let judged = judge(&step, SETTLES);
            assert_ne!(judged.growth, Growth::Grows, "{at} {judged:?}");
            if at < 30 {
                assert_eq!(judged.growth, Growth::Flat, "{at} {judged:?}");
            }
        }
    }

    #[test]
    fn a_heap_that_fills_up_is_no_growth_while_it_fills_and_flat_afterwards() {
        let filled = |requests: f64| {
            series((requests / 5_000.0) as usize, 5_000.0, |served| {
                300.0 * MB - 200.0 * MB * (-served / SETTLES).exp()
            })
        };
        for requests in [200_000.0, 300_000.0, 400_000.0, 800_000.0] {
            let judged = judge(&filled(requests), SETTLES);
            assert_ne!(judged.growth, Growth::Grows, "{requests} {judged:?}");
        }
        assert_eq!(growth(&filled(3e6)), Growth::Flat);
    }

    #[test]
    fn too_little_to_judge_is_unclear_and_has_no_slope() {
        for chunks in 0..8 {
            let leak = series(chunks, CHUNK, |served| 1024.0 * served);
            let judged = judge(&leak, SETTLES);
            assert_eq!(
                (judged.growth, judged.slope),
                (Growth::Unclear, None),
                "{chunks}"
            );
        }
        assert_eq!(judge(&[], SETTLES).slope, None);
    }

    #[test]
    fn the_interval_holds_the_true_slope_nine_times_in_ten_at_least_whatever_the_noise() {
        let mut random = random();
        for stays in [0.0, 0.7, 0.999] {
            let trials = 300;
            let held = (0..trials).filter(|_| {
                let leak = series(60, CHUNK, |served| 20.0 * MB + 50.0 * served);
                let slope = judge(&noisy(leak, MB, stays, &mut random), SETTLES).slope;
                slope.is_some_and(|slope| slope.low <= 50.0 && 50.0 <= slope.high)
            });
            let coverage = held.count() as f64 / f64::from(trials);
            assert!(coverage >= 0.9, "{stays}: {coverage}");
        }
    }
}
