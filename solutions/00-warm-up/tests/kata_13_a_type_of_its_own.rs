//! Kata 13, newtypes and numbers: how high is the next hut?

use std::fmt;

/// Meters above sea level: a newtype, so that subtracting hours from meters doesn't compile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Meters(u16);

impl fmt::Display for Meters {
    /// Formats the height with a space as the thousands separator: `1 234 m`, but `980 m`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.0 / 1000, self.0 % 1000) {
            (0, rest) => write!(f, "{rest} m"),
            (thousands, rest) => write!(f, "{thousands} {rest:03} m"),
        }
    }
}

impl Meters {
    /// A height sent by a phone; `None` if it's below sea level, or too large for a `Meters`.
    fn parse(sent: i64) -> Option<Meters> {
        u16::try_from(sent).ok().map(Meters)
    }
}

/// The climb from the first to the last height; `None` for no heights or for a descent.
fn climb(heights: &[Meters]) -> Option<Meters> {
    let (first, last) = (heights.first()?, heights.last()?);
    last.0.checked_sub(first.0).map(Meters)
}

#[test]
fn a_height_is_shown_with_its_unit() {
    assert_eq!(Meters(980).to_string(), "980 m");
    assert_eq!(Meters(2_046).to_string(), "2 046 m");
}

#[test]
fn a_height_that_fits_nowhere_is_none() {
    assert_eq!(Meters::parse(1_053), Some(Meters(1_053)));
    assert_eq!(Meters::parse(-3), None);
    assert_eq!(Meters::parse(70_000), None);
}

#[test]
fn a_climb_goes_up_or_is_none() {
    assert_eq!(
        climb(&[Meters(980), Meters(1_500), Meters(1_320)]),
        Some(Meters(340))
    );
    assert_eq!(climb(&[Meters(980), Meters(400)]), None);
    assert_eq!(climb(&[]), None);
}
