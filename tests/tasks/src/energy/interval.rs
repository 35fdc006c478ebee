//! From samples to joules: the energy of a window of time, what of it is beyond the idle machine, and what of that a request took.

use crate::energy::source::{EnergyReading, Sample};
use workshop_results::figures::figure;
use workshop_results::statistics::median;

/// The share of a window that samples have to cover.
pub const COVERED: f64 = 0.95;
/// Two samples of power that are so many times the usual distance apart have a gap between them.
const GAP: f64 = 3.0;

/// A window of time, in seconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EnergyWindow {
    /// Its beginning.
    pub from_s: f64,
    /// Its end.
    pub to_s: f64,
}

/// The energy of a window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Energy {
    /// All of it, idle included.
    pub joules: f64,
    /// The length of the window.
    pub seconds: f64,
}

impl Energy {
    /// The mean power.
    pub fn watts(self) -> f64 {
        self.joules / self.seconds
    }

    /// What is beyond the same time on the idle machine, in joules. Where that is nothing, the reason.
    pub fn above(self, idle: Energy) -> Result<f64, String> {
        let joules = self.joules - idle.watts() * self.seconds;
        if joules > 0.0 {
            return Ok(joules);
        }
        Err(format!(
            "the machine took {} W under load and {} W idle: the source doesn't see the load",
            figure(self.watts()),
            figure(idle.watts())
        ))
    }
}

/// The energy of a window: the growth of a counter, or the power by the trapezoidal rule. Where power is known for most of the
/// window only, the rest is taken to be like it; below [`COVERED`], or without a sample, the reason.
pub fn energy(samples: &[Sample], window: EnergyWindow) -> Result<Energy, String> {
    let seconds = window.to_s - window.from_s;
    let longest = GAP * usual_distance(samples);
    let (mut joules, mut covered) = (0.0, 0.0);
    for pair in samples.windows(2) {
        let (one, other) = (pair[0], pair[1]);
        let distance = other.at_s - one.at_s;
        let from = one.at_s.max(window.from_s);
        let to = other.at_s.min(window.to_s);
        if to <= from {
            continue;
        }
        joules += match (one.reading, other.reading) {
            (EnergyReading::Energy(before), EnergyReading::Energy(after)) => {
                (after - before) * (to - from) / distance
            }
            (EnergyReading::Power(first), EnergyReading::Power(last)) if distance <= longest => {
                let at = |moment: f64| first + (last - first) * (moment - one.at_s) / distance;
                f64::midpoint(at(from), at(to)) * (to - from)
            }
            _ => continue,
        };
        covered += to - from;
    }
    let share = covered / seconds;
    if share >= COVERED {
        return Ok(Energy {
            joules: joules / share,
            seconds,
        });
    }
    // A window without length has a share that is no number.
    let percent = (share * 100.0).max(0.0);
    Err(format!(
        "the samples cover {percent:.0} % of {seconds:.1} s; {:.0} % are needed",
        COVERED * 100.0
    ))
}

/// The median distance between samples, in seconds.
fn usual_distance(samples: &[Sample]) -> f64 {
    let distances = samples.windows(2).map(|pair| pair[1].at_s - pair[0].at_s);
    median(&distances.collect::<Vec<_>>()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn power(samples: &[(f64, f64)]) -> Vec<Sample> {
        let sample = |(at_s, watts): &(f64, f64)| Sample {
            at_s: *at_s,
            reading: EnergyReading::Power(*watts),
        };
        samples.iter().map(sample).collect()
    }

    const TEN_SECONDS: EnergyWindow = EnergyWindow {
        from_s: 100.0,
        to_s: 110.0,
    };

    fn close(energy: Result<Energy, String>, joules: f64) {
        let energy = energy.unwrap();
        assert!((energy.joules - joules).abs() < 1e-6, "{energy:?}");
    }

    #[test]
    fn steady_power_is_power_times_time_and_a_slope_is_its_middle() {
        let steady: Vec<(f64, f64)> = (0..30).map(|s| (90.0 + f64::from(s), 4.0)).collect();
        close(energy(&power(&steady), TEN_SECONDS), 40.0);
        let slope: Vec<(f64, f64)> = (0..30)
            .map(|s| (90.0 + f64::from(s), f64::from(s)))
            .collect();
        close(energy(&power(&slope), TEN_SECONDS), 150.0);
    }

    #[test]
    fn a_window_may_begin_and_end_between_samples() {
        let steady: Vec<(f64, f64)> = (0..30).map(|s| (90.3 + f64::from(s), 2.5)).collect();
        close(energy(&power(&steady), TEN_SECONDS), 25.0);
    }

    #[test]
    fn a_missing_line_is_bridged_and_a_gap_is_none_of_the_energy() {
        let one_missing = (0..30).filter(|s| *s != 15);
        let one_missing: Vec<_> = one_missing.map(|s| (90.0 + f64::from(s), 3.0)).collect();
        close(energy(&power(&one_missing), TEN_SECONDS), 30.0);
        let gap = (0..30).filter(|s| !(14..18).contains(s));
        let gap: Vec<_> = gap.map(|s| (90.0 + f64::from(s), 3.0)).collect();
        let reason = energy(&power(&gap), TEN_SECONDS).unwrap_err();
        assert_eq!(reason, "the samples cover 50 % of 10.0 s; 95 % are needed");
    }

    #[test]
    fn little_that_is_missing_is_taken_to_be_like_the_rest() {
        let late: Vec<_> = (0..200)
            .map(|s| (100.3 + f64::from(s) / 10.0, 6.0))
            .collect();
        close(energy(&power(&late), TEN_SECONDS), 60.0);
    }

    #[test]
    fn a_counter_needs_no_samples_between() {
        let counted = [(99.9, 50.0), (110.1, 152.0)].map(|(at_s, joules)| Sample {
            at_s,
            reading: EnergyReading::Energy(joules),
        });
        close(energy(&counted, TEN_SECONDS), 100.0);
    }

    #[test]
    fn no_samples_are_no_energy() {
        let reason = energy(&[], TEN_SECONDS).unwrap_err();
        assert!(reason.starts_with("the samples cover 0 %"), "{reason}");
        let nothing = EnergyWindow {
            to_s: 100.0,
            ..TEN_SECONDS
        };
        assert!(energy(&[], nothing).is_err());
    }

    #[test]
    fn idle_is_subtracted_for_the_length_of_the_load() {
        let idle = Energy {
            joules: 8.0,
            seconds: 4.0,
        };
        let load = Energy {
            joules: 50.0,
            seconds: 10.0,
        };
        assert_eq!(load.above(idle), Ok(30.0));
        let reason = idle.above(idle).unwrap_err();
        assert!(reason.contains("2 W under load and 2 W idle"), "{reason}");
    }
}
