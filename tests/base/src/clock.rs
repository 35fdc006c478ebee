//! Clocks that nobody sets: how long ago something was, whatever the date on the screen does.

use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

/// Time since the machine has started. It goes on while the machine sleeps, unlike [`std::time::Instant`] on Linux.
pub fn since_boot() -> Duration {
    #[cfg(target_os = "linux")]
    let clock = ClockId::CLOCK_BOOTTIME;
    #[cfg(not(target_os = "linux"))]
    let clock = ClockId::CLOCK_MONOTONIC;
    clock_gettime(clock).map_or(Duration::ZERO, Duration::from)
}
