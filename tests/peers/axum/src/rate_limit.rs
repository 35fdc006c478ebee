//! A limit for a line of the log that each request of an outage would repeat.

use std::{
    mem,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

/// Admits one event per period, and counts those in between.
pub struct RateLimit {
    period: Duration,
    events: Mutex<Events>,
}

struct Events {
    admitted: Option<Instant>,
    suppressed: u64,
}

impl RateLimit {
    /// One event per `period`.
    pub const fn new(period: Duration) -> RateLimit {
        RateLimit {
            period,
            events: Mutex::new(Events {
                admitted: None,
                suppressed: 0,
            }),
        }
    }

    /// `Some` if this event is admitted: how many were suppressed since the last one.
    pub fn admit(&self, now: Instant) -> Option<u64> {
        let mut events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        if events
            .admitted
            .is_some_and(|admitted| now.duration_since(admitted) < self.period)
        {
            events.suppressed += 1;
            return None;
        }
        events.admitted = Some(now);
        Some(mem::take(&mut events.suppressed))
    }
}
