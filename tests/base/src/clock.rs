//! Clocks that nobody sets, and one that is set: how long ago something was, whether the machine has slept, and whether its date has jumped.

use std::fmt;
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

/// From here on clocks differ by more than what setting them by the network does at a time.
const WORTH_A_WORD: f64 = 1.0;

/// Time since the machine has started. It goes on while the machine sleeps, unlike [`std::time::Instant`] on Linux.
pub fn since_boot() -> Duration {
    #[cfg(target_os = "linux")]
    let clock = ClockId::CLOCK_BOOTTIME;
    #[cfg(not(target_os = "linux"))]
    let clock = ClockId::CLOCK_MONOTONIC;
    read(clock)
}

fn read(clock: ClockId) -> Duration {
    clock_gettime(clock).map_or(Duration::ZERO, Duration::from)
}

/// The machine's clocks at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clocks {
    /// Time that it was awake.
    pub awake: Duration,
    /// Time since its start.
    pub since_boot: Duration,
    /// Time since 1970, as its date says.
    pub date: Duration,
}

/// What has happened to the clocks between two moments, in seconds; zero where it isn't worth a word.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ClockJumps {
    /// How long the machine has slept.
    pub slept_s: f64,
    /// By how much its date was set forward; below zero, back.
    pub set_s: f64,
}

impl Clocks {
    /// Now.
    pub fn now() -> Clocks {
        Clocks {
            // On Linux this one stands still while the machine sleeps; elsewhere no sleep is seen.
            awake: read(ClockId::CLOCK_MONOTONIC),
            since_boot: since_boot(),
            date: read(ClockId::CLOCK_REALTIME),
        }
    }

    /// What has happened to them since an earlier moment.
    pub fn since(&self, before: &Clocks) -> ClockJumps {
        let between = |now: Duration, before: Duration| now.as_secs_f64() - before.as_secs_f64();
        let all = between(self.since_boot, before.since_boot);
        let worth = |seconds: f64| match seconds.abs() >= WORTH_A_WORD {
            true => seconds,
            false => 0.0,
        };
        ClockJumps {
            slept_s: worth(all - between(self.awake, before.awake)),
            set_s: worth(between(self.date, before.date) - all),
        }
    }
}

impl ClockJumps {
    /// Adds what has happened at another time.
    pub fn and(self, other: ClockJumps) -> ClockJumps {
        ClockJumps {
            slept_s: self.slept_s + other.slept_s,
            set_s: self.set_s + other.set_s,
        }
    }

    /// In words, where something has happened.
    pub fn in_words(&self) -> Option<String> {
        (*self != ClockJumps::default()).then(|| self.to_string())
    }
}

impl fmt::Display for ClockJumps {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (slept, set) = (self.slept_s, self.set_s);
        if slept != 0.0 {
            write!(out, "the machine slept for {slept:.0} s")?;
        }
        if slept != 0.0 && set != 0.0 {
            write!(out, ", and ")?;
        }
        if set != 0.0 {
            let way = if set > 0.0 { "forward" } else { "back" };
            write!(out, "its clock was set {way} by {:.0} s", set.abs())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clocks(awake: f64, since_boot: f64, date: f64) -> Clocks {
        let [awake, since_boot, date] = [awake, since_boot, date].map(Duration::from_secs_f64);
        Clocks {
            awake,
            since_boot,
            date,
        }
    }

    #[test]
    fn a_sleep_and_a_clock_that_jumps_are_told_apart() {
        let before = clocks(100.0, 150.0, 1e9);
        for (now, said) in [
            (clocks(160.0, 210.0, 1e9 + 60.2), None),
            (
                clocks(160.0, 244.0, 1e9 + 94.0),
                Some("the machine slept for 34 s"),
            ),
            (
                clocks(160.0, 210.0, 1e9 + 360.0),
                Some("its clock was set forward by 300 s"),
            ),
            (
                clocks(160.0, 210.0, 1e9 - 240.0),
                Some("its clock was set back by 300 s"),
            ),
            (
                clocks(160.0, 244.0, 1e9 + 154.0),
                Some("the machine slept for 34 s, and its clock was set forward by 60 s"),
            ),
        ] {
            assert_eq!(now.since(&before).in_words().as_deref(), said);
        }
    }

    #[test]
    fn a_moment_of_this_machine_has_neither() {
        let before = Clocks::now();
        assert_eq!(Clocks::now().since(&before), ClockJumps::default());
    }
}
