//! A booking and its states. The caller passes the current time: no code here reads the clock.

use serde::Serialize;

use crate::night::Night;
use crate::refusal::Refusal;

/// A point in time, as Unix time in seconds.
pub type Seconds = u64;

/// How long a bunk is held for a guest who hasn't confirmed.
pub const HOLD: Seconds = 900;

/// The maximum length of a guest's name, in characters.
const LONGEST_NAME: usize = 40;

// ANCHOR: state
/// The state of a booking. A `match` that misses one of the variants doesn't compile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "state", rename_all = "lowercase")]
pub enum State {
    /// The bunk is held until this time.
    Held { held_until: Seconds },
    /// The guest will come.
    Confirmed,
    /// The bunk is free for other guests.
    Canceled,
}
// ANCHOR_END: state

/// A guest's name, validated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Guest(String);

impl Guest {
    /// Accepts a name unless it is blank or too long.
    pub fn named(name: String) -> Result<Guest, Refusal> {
        if name.trim().is_empty() || name.chars().count() > LONGEST_NAME {
            return Err(Refusal::NoName);
        }
        Ok(Guest(name))
    }
}

/// A guest's bunk for a night.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Booking {
    pub code: String,
    pub hut: &'static str,
    pub night: Night,
    pub bunk: u32,
    pub guest: Guest,
    #[serde(flatten)]
    pub state: State,
}

impl Booking {
    /// Whether the bunk is still unavailable to other guests because of this booking.
    pub fn keeps_its_bunk(&self, now: Seconds) -> bool {
        match self.state {
            State::Held { held_until } => held_until > now,
            State::Confirmed => true,
            State::Canceled => false,
        }
    }

    // ANCHOR: confirm
    /// Confirms the booking: the guest will come.
    pub fn confirm(&mut self, now: Seconds) -> Result<&Booking, Refusal> {
        match self.state {
            State::Held { held_until } if held_until <= now => Err(Refusal::Expired),
            State::Held { .. } | State::Confirmed => {
                self.state = State::Confirmed;
                Ok(self)
            }
            State::Canceled => Err(Refusal::Canceled),
        }
    }
    // ANCHOR_END: confirm

    /// Cancels the booking: the guest won't come.
    pub fn cancel(&mut self) -> Result<&Booking, Refusal> {
        match self.state {
            State::Held { .. } | State::Confirmed => {
                self.state = State::Canceled;
                Ok(self)
            }
            State::Canceled => Err(Refusal::Canceled),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held_until(held_until: Seconds) -> Booking {
        Booking {
            code: "B-1".to_owned(),
            hut: "larch",
            night: Night::parse("2026-07-14").expect("a night"),
            bunk: 1,
            guest: Guest::named("Ada".to_owned()).expect("a name"),
            state: State::Held { held_until },
        }
    }

    #[test]
    fn a_hold_ends_at_its_time() {
        let booking = held_until(100);
        assert!(booking.keeps_its_bunk(99));
        assert!(!booking.keeps_its_bunk(100));
    }

    #[test]
    fn a_hold_that_has_ended_is_not_confirmed() {
        assert_eq!(held_until(100).confirm(100), Err(Refusal::Expired));
    }

    #[test]
    fn what_is_confirmed_stays_when_its_hold_would_have_ended() {
        let mut booking = held_until(100);
        assert!(booking.confirm(99).is_ok());
        assert!(booking.keeps_its_bunk(1_000));
    }

    #[test]
    fn a_booking_canceled_after_it_was_confirmed_stays_canceled() {
        let mut booking = held_until(100);
        assert!(booking.confirm(0).is_ok() && booking.cancel().is_ok());
        assert_eq!(booking.confirm(0), Err(Refusal::Canceled));
    }

    #[test]
    fn a_name_is_counted_in_characters() {
        assert!(Guest::named("é".repeat(40)).is_ok());
        assert_eq!(Guest::named("é".repeat(41)), Err(Refusal::NoName));
    }
}
