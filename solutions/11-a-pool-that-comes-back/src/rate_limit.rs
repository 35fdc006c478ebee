//! A rate limit for log lines that every request would repeat during an outage.

use std::{
    collections::HashMap,
    hash::Hash,
    mem,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

// ANCHOR: rate-limit
/// Admits one event per period for each cause, and counts the suppressed events.
pub struct RateLimit<C> {
    period: Duration,
    events: Mutex<HashMap<C, Events>>,
}

#[derive(Default)]
struct Events {
    admitted: Option<Instant>,
    suppressed: u64,
}

impl<C: Eq + Hash> RateLimit<C> {
    /// Creates a limit of one event per `period` and cause.
    pub fn new(period: Duration) -> RateLimit<C> {
        RateLimit {
            period,
            events: Mutex::default(),
        }
    }

    /// Returns the number of suppressed events with this cause, or `None` to suppress this one.
    pub fn admit(&self, cause: C, now: Instant) -> Option<u64> {
        let mut causes = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        let events = causes.entry(cause).or_default();
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
        assert_eq!(limit.admit("outage", start), Some(0));
        assert_eq!(limit.admit("outage", start), None);
        let soon = start + Duration::from_millis(999);
        assert_eq!(limit.admit("outage", soon), None);
        let a_second_later = start + Duration::from_secs(1);
        assert_eq!(limit.admit("outage", a_second_later), Some(2));
        let two_seconds_later = start + Duration::from_secs(2);
        assert_eq!(limit.admit("outage", two_seconds_later), Some(0));
    }

    #[test]
    fn one_cause_does_not_hide_another() {
        let limit = RateLimit::new(Duration::from_secs(1));
        let now = Instant::now();
        assert_eq!(limit.admit("prices", now), Some(0));
        assert_eq!(limit.admit("outage", now), Some(0));
        assert_eq!(limit.admit("prices", now), None);
    }
}
