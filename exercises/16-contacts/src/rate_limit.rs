//! A limit for a line of the log that each request of an outage would repeat.

use std::{
    mem,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

// ANCHOR: rate-limit
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
// ANCHOR_END: rate-limit

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_event_per_period_is_admitted_with_the_number_of_the_others() {
        let limit = RateLimit::new(Duration::from_secs(1));
        let start = Instant::now();
        assert_eq!(limit.admit(start), Some(0));
        assert_eq!(limit.admit(start), None);
        assert_eq!(limit.admit(start + Duration::from_millis(999)), None);
        assert_eq!(limit.admit(start + Duration::from_secs(1)), Some(2));
        assert_eq!(limit.admit(start + Duration::from_secs(2)), Some(0));
    }
}
