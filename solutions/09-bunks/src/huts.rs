//! The huts with their bunks, and all bookings. Plain data: to share it between threads, put one lock around it.

use serde::Serialize;

use crate::booking::{Booking, Guest, HOLD, Seconds, State};
use crate::night::Night;
use crate::refusal::Refusal;

/// The huts, each with its number of bunks.
const HUTS: [(&str, u32); 3] = [("larch", 4), ("marmot", 12), ("summit", 2)];

/// The whole state of the service.
#[derive(Debug, Default)]
pub struct Huts {
    /// All bookings, in the order of their codes, starting with `B-1`.
    bookings: Vec<Booking>,
}

/// The occupancy of a hut for one night.
#[derive(Debug, Serialize)]
pub struct Occupancy {
    hut: &'static str,
    night: Night,
    bunks: Vec<Bunk>,
}

/// A bunk, as other guests see it: without the name of the guest.
#[derive(Debug, Serialize)]
struct Bunk {
    bunk: u32,
    state: BunkState,
}

/// The state of a bunk on a night.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum BunkState {
    Free,
    Held,
    Confirmed,
}

impl Huts {
    /// All huts, with every bunk free.
    pub fn open() -> Huts {
        Huts::default()
    }

    /// The bunks of a hut, and whether each is free, held or confirmed on this night.
    pub fn occupancy(&self, hut: &str, night: Night, now: Seconds) -> Result<Occupancy, Refusal> {
        let (hut, bunks) = named(hut)?;
        let bunks = (1..=bunks).map(|bunk| Bunk {
            bunk,
            state: self.state_of(hut, night, bunk, now),
        });
        Ok(Occupancy {
            hut,
            night,
            bunks: bunks.collect(),
        })
    }

    // ANCHOR: hold
    /// Holds a bunk for a guest, if it is free.
    pub fn hold(
        &mut self,
        (hut, night, bunk): (&str, Night, u32),
        guest: Guest,
        now: Seconds,
    ) -> Result<&Booking, Refusal> {
        let (hut, bunks) = named(hut)?;
        if !(1..=bunks).contains(&bunk) {
            return Err(Refusal::NoSuchBunk);
        }
        if self.state_of(hut, night, bunk, now) != BunkState::Free {
            return Err(Refusal::Taken);
        }
        let held_until = now.saturating_add(HOLD);
        self.bookings.push(Booking {
            code: format!("B-{}", self.bookings.len() + 1),
            hut,
            night,
            bunk,
            guest,
            state: State::Held { held_until },
        });
        self.bookings.last().ok_or(Refusal::NoSuchBunk)
    }
    // ANCHOR_END: hold

    /// The booking with this code.
    pub fn booking(&self, code: &str) -> Result<&Booking, Refusal> {
        let mut bookings = self.bookings.iter();
        let found = bookings.find(|booking| booking.code == code);
        found.ok_or(Refusal::NoSuchBooking)
    }

    /// Confirms the booking with this code.
    pub fn confirm(&mut self, code: &str, now: Seconds) -> Result<&Booking, Refusal> {
        self.booking_mut(code)?.confirm(now)
    }

    /// Cancels the booking with this code.
    pub fn cancel(&mut self, code: &str) -> Result<&Booking, Refusal> {
        self.booking_mut(code)?.cancel()
    }

    fn booking_mut(&mut self, code: &str) -> Result<&mut Booking, Refusal> {
        let mut bookings = self.bookings.iter_mut();
        let found = bookings.find(|booking| booking.code == code);
        found.ok_or(Refusal::NoSuchBooking)
    }

    fn state_of(&self, hut: &str, night: Night, bunk: u32, now: Seconds) -> BunkState {
        let mut bookings = self.bookings.iter();
        let booking = bookings.find(|booking| {
            (booking.hut, booking.night, booking.bunk) == (hut, night, bunk)
                && booking.keeps_its_bunk(now)
        });
        match booking.map(|booking| booking.state) {
            Some(State::Held { .. }) => BunkState::Held,
            Some(State::Confirmed) => BunkState::Confirmed,
            Some(State::Canceled) | None => BunkState::Free,
        }
    }
}

/// The hut with this name, and its number of bunks.
fn named(hut: &str) -> Result<(&'static str, u32), Refusal> {
    let found = HUTS.into_iter().find(|(name, _)| *name == hut);
    found.ok_or(Refusal::NoSuchHut)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bunk_of_summit(huts: &mut Huts, now: Seconds) -> Result<String, Refusal> {
        let night = Night::parse("2026-07-14").expect("a night");
        let guest = Guest::named("Ada".to_owned())?;
        let held = huts.hold(("summit", night, 1), guest, now)?;
        Ok(held.code.to_owned())
    }

    #[test]
    fn a_held_bunk_is_not_held_twice() {
        let mut huts = Huts::open();
        assert_eq!(bunk_of_summit(&mut huts, 0), Ok("B-1".to_owned()));
        assert_eq!(bunk_of_summit(&mut huts, HOLD - 1), Err(Refusal::Taken));
    }

    #[test]
    fn a_bunk_whose_hold_has_ended_is_free() {
        let mut huts = Huts::open();
        assert!(bunk_of_summit(&mut huts, 0).is_ok());
        assert_eq!(bunk_of_summit(&mut huts, HOLD), Ok("B-2".to_owned()));
    }

    #[test]
    fn a_canceled_bunk_is_free() {
        let mut huts = Huts::open();
        assert!(bunk_of_summit(&mut huts, 0).is_ok() && huts.cancel("B-1").is_ok());
        assert!(bunk_of_summit(&mut huts, 0).is_ok());
    }
}
