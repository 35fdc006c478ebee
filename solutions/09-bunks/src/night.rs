//! A night, such as `2026-07-14`.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::refusal::Refusal;

/// The night that begins on this day. Its month is from 1 to 12, and its day from 1 to 31.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Night {
    year: u16,
    month: u8,
    day: u8,
}

impl Night {
    /// Reads year, month and day, as in `2026-07-14`.
    pub fn parse(text: &str) -> Result<Night, Refusal> {
        let night = read(text).filter(|night| night.is_in_a_calendar());
        night.ok_or(Refusal::NoNight)
    }

    fn is_in_a_calendar(self) -> bool {
        (2000..=9999).contains(&self.year)
            && (1..=12).contains(&self.month)
            && (1..=31).contains(&self.day)
    }
}

fn read(text: &str) -> Option<Night> {
    let mut parts = text.split('-');
    let night = Night {
        year: parts.next()?.parse().ok()?,
        month: parts.next()?.parse().ok()?,
        day: parts.next()?.parse().ok()?,
    };
    parts.next().is_none().then_some(night)
}

impl fmt::Display for Night {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Night { year, month, day } = self;
        write!(f, "{year}-{month:02}-{day:02}")
    }
}

impl Serialize for Night {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_night_reads_as_it_is_written() {
        let night = Night::parse("2026-07-14").map(|night| night.to_string());
        assert_eq!(night, Ok("2026-07-14".to_owned()));
    }

    #[test]
    fn anything_else_is_no_night() {
        for text in ["", "-", "2026-07", "2026-13-01", "äöü-1-1", "2026-07-14-1"] {
            assert_eq!(Night::parse(text), Err(Refusal::NoNight), "{text}");
        }
    }
}
