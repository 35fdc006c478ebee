//! The meter: reads a source while something runs, and tells the energy of that time.

use std::time::{Duration, Instant};

use crate::energy::interval::{self, Energy, EnergyWindow};
use crate::energy::source::{EnergySource, Sample, now_s};
use workshop_base::clock::Clocks;

/// Between two readings.
const PERIOD: Duration = Duration::from_millis(500);
/// How old a sample may be that a later window begins with.
const KEPT_S: f64 = 60.0;

/// A source under observation.
#[derive(Debug)]
pub struct Meter {
    source: Box<dyn EnergySource>,
    samples: Vec<Sample>,
    lost: Option<String>,
}

impl Meter {
    /// Of a source that is there.
    pub fn of(source: Box<dyn EnergySource>) -> Self {
        Meter {
            source,
            samples: Vec::new(),
            lost: None,
        }
    }

    /// What comes of some work, and the energy of the time that it took; where that isn't known, the reason. The work is done
    /// whatever becomes of the source.
    pub async fn during<T>(
        &mut self,
        work: impl Future<Output = T>,
    ) -> (T, Result<Energy, String>) {
        // A source that went away may have come back.
        if self.lost.take().is_some() {
            self.samples.clear();
        }
        let oldest = now_s() - KEPT_S;
        self.samples.retain(|sample| sample.at_s >= oldest);
        self.look();
        let clocks = Clocks::now();
        let from_s = now_s();
        let done = {
            tokio::pin!(work);
            loop {
                tokio::select! {
                    done = &mut work => break done,
                    () = tokio::time::sleep(PERIOD) => self.look(),
                }
            }
        };
        let window = EnergyWindow {
            from_s,
            to_s: now_s(),
        };
        self.look();
        let ended = Instant::now();
        while self.is_behind(window.to_s) && ended.elapsed() < self.source.lag() {
            tokio::time::sleep(PERIOD).await;
            self.look();
        }
        // Samples have dates, and what is used while the machine sleeps is nobody's.
        let jumps = Clocks::now().since(&clocks).in_words();
        let energy = match self.lost.as_ref().or(jumps.as_ref()) {
            Some(reason) => Err(reason.clone()),
            None => interval::energy(&self.samples, window),
        };
        (
            done,
            energy.map_err(|reason| format!("{}: {reason}", self.source.name())),
        )
    }

    fn look(&mut self) {
        if self.lost.is_some() {
            return;
        }
        match self.source.read() {
            Ok(samples) => self.samples.extend(samples),
            Err(error) => self.lost = Some(format!("{error:#}")),
        }
    }

    /// Whether the source still has to tell what was at this moment.
    fn is_behind(&self, moment_s: f64) -> bool {
        let newest = self.samples.last();
        self.lost.is_none() && newest.is_none_or(|newest| newest.at_s < moment_s)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::energy::source::EnergyReading;

    /// Two watts, for so many readings; then it is gone, and comes back with the reading after.
    #[derive(Debug)]
    struct Sensor {
        readings: usize,
        lag: Duration,
        late_s: f64,
    }

    impl EnergySource for Sensor {
        fn name(&self) -> &'static str {
            "a sensor"
        }
        fn covers(&self) -> String {
            String::new()
        }
        fn read(&mut self) -> anyhow::Result<Vec<Sample>> {
            let left = self.readings;
            self.readings = left.wrapping_sub(1);
            anyhow::ensure!(left != 0, "it was unplugged");
            Ok(vec![Sample {
                at_s: now_s() - self.late_s,
                reading: EnergyReading::Power(2.0),
            }])
        }
        fn lag(&self) -> Duration {
            self.lag
        }
    }

    fn meter(readings: usize) -> Meter {
        Meter::of(Box::new(Sensor {
            readings,
            lag: Duration::ZERO,
            late_s: 0.0,
        }))
    }

    async fn a_second() -> &'static str {
        tokio::time::sleep(Duration::from_millis(1200)).await;
        "done"
    }

    #[tokio::test]
    async fn the_energy_is_that_of_the_time_the_work_took() {
        let (done, energy) = meter(usize::MAX).during(a_second()).await;
        let energy = energy.unwrap();
        assert_eq!(done, "done");
        assert!(energy.seconds >= 1.2, "{energy:?}");
        assert!((energy.watts() - 2.0).abs() < 1e-6, "{energy:?}");
    }

    #[tokio::test]
    async fn a_sensor_that_goes_away_ends_no_work_and_the_next_window_has_it_back() {
        let mut meter = meter(2);
        let (done, energy) = meter.during(a_second()).await;
        assert_eq!(done, "done");
        assert_eq!(energy.unwrap_err(), "a sensor: it was unplugged");
        let (_, energy) = meter.during(a_second()).await;
        assert!((energy.unwrap().watts() - 2.0).abs() < 1e-6);
    }

    #[tokio::test]
    async fn samples_that_come_late_are_waited_for() {
        let late = |lag| {
            Meter::of(Box::new(Sensor {
                readings: usize::MAX,
                lag,
                late_s: 1.0,
            }))
        };
        let (_, energy) = late(Duration::ZERO).during(a_second()).await;
        assert!(energy.is_err());
        let mut waiting = late(Duration::from_secs(3));
        waiting.during(a_second()).await.1.unwrap();
    }
}
