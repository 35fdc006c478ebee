//! A rate limit for log lines that every request would repeat during an outage.

use std::{
    collections::HashMap,
    hash::Hash,
    mem,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

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
