//! How long ago the last check of each person was. A line says it by its own laptop's clock, which may be minutes off; the board's own clock
//! says when the line came.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use workshop::room::{Person, RoomLine};

/// How far the board's clock may be from those of the others before it's worth a word.
const WORTH_A_WORD: SignedDuration = SignedDuration::from_mins(2);

/// How many people have to agree that a clock is wrong before it is the board's.
const AGREE: usize = 3;

/// When the last line of each person came, as far as the board has seen it come.
#[derive(Debug, Default)]
pub struct Ages {
    last: BTreeMap<String, LastLine>,
    /// Since the machine's start, and by its date, at the last look.
    now: (Duration, Timestamp),
    looks: usize,
}

#[derive(Debug)]
struct LastLine {
    line: RoomLine,
    /// When it came, and by how much that was after its own date; none where it was there before the board.
    came: Option<(Duration, SignedDuration)>,
}

impl Ages {
    /// Takes note of the lines that have come since the look before, at this time since the machine's start, and this date.
    pub fn look(&mut self, people: &[Person], since_boot: Duration, date: Timestamp) {
        for person in people {
            let Some(line) = person.last() else { continue };
            if self
                .last
                .get(&person.id)
                .is_some_and(|last| last.line == *line)
            {
                continue;
            }
            let came = (self.looks > 0).then(|| (since_boot, date.duration_since(line.at)));
            let line = line.clone();
            self.last.insert(person.id.clone(), LastLine { line, came });
        }
        self.now = (since_boot, date);
        self.looks += 1;
    }

    /// Whole minutes since the last check of a person.
    pub fn minutes(&self, person: &Person) -> i64 {
        let (since_boot, date) = self.now;
        let age = match self.last.get(&person.id) {
            None => SignedDuration::ZERO,
            Some(last) => match last.came {
                Some((came, _)) => {
                    SignedDuration::try_from(since_boot.saturating_sub(came)).unwrap_or_default()
                }
                None => date.duration_since(last.line.at) - self.late(),
            },
        };
        age.max(SignedDuration::ZERO).as_mins()
    }

    /// By how much lines come after their dates: nothing, unless several people agree.
    fn late(&self) -> SignedDuration {
        let came = self.last.values().filter_map(|last| last.came);
        let mut late: Vec<SignedDuration> = came.map(|(_, late)| late).collect();
        late.sort_unstable();
        let median = late.get(late.len() / 2).filter(|_| late.len() >= AGREE);
        let median = median.copied().unwrap_or_default();
        match median.abs() >= WORTH_A_WORD {
            true => median,
            false => SignedDuration::ZERO,
        }
    }

    /// The note that belongs to the minutes, when the board's clock differs from everybody's.
    pub fn note(&self) -> Option<String> {
        let late = self.late();
        let minutes = late.abs().as_mins();
        match late.signum() {
            0 => None,
            1 => Some(format!(
                "by this clock, checks come here {minutes} minutes after they ended: either it is fast, or the folder is slow; the minutes don't count that"
            )),
            _ => Some(format!(
                "by this clock, checks come here {minutes} minutes before they ended, so it is slow; the minutes don't count that"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn minutes(minutes: i64) -> SignedDuration {
        SignedDuration::from_mins(minutes)
    }

    /// Somebody whose last check ended so many minutes after the beginning, by a clock that is so many minutes fast.
    fn person(id: usize, ended: i64, fast: i64) -> Person {
        Person {
            id: id.to_string(),
            lines: vec![RoomLine {
                at: Timestamp::UNIX_EPOCH + minutes(ended + fast),
                name: "Ada".to_owned(),
                exercise: 3,
                green: true,
                red: None,
            }],
        }
    }

    /// What a board says that was begun at minute 10 and looks again at 12 and at 30, by a clock that is so many minutes fast.
    fn board(fast: i64, people: [&[Person]; 3]) -> Ages {
        let mut ages = Ages::default();
        for (minute, people) in [10_i64, 12, 30].into_iter().zip(people) {
            let since_boot = Duration::from_secs(minute.cast_unsigned() * 60);
            let date = Timestamp::UNIX_EPOCH + minutes(minute + fast);
            ages.look(people, since_boot, date);
        }
        ages
    }

    #[test]
    fn an_instructor_s_clock_that_is_five_minutes_wrong_makes_nobody_stuck_and_hides_nobody() {
        let before = [1, 2, 3, 4].map(|id| person(id, 5, 0));
        let after = [person(1, 12, 0), person(2, 12, 0), person(3, 12, 0)];
        let everybody = [&after[..], &before[3..]].concat();
        for (fast, said) in [
            (0, None),
            (5, Some("5 minutes after they ended")),
            (-5, Some("5 minutes before they ended")),
        ] {
            let ages = board(fast, [&before, &everybody, &everybody]);
            let shown: Vec<i64> = everybody.iter().map(|one| ages.minutes(one)).collect();
            assert_eq!(shown, [18, 18, 18, 25], "with a clock {fast} minutes fast");
            let note = ages.note();
            match said {
                None => assert_eq!(note, None),
                Some(said) => assert!(note.is_some_and(|note| note.contains(said))),
            }
        }
    }

    #[test]
    fn the_clock_of_one_laptop_is_that_laptop_s_matter() {
        let before = [person(1, 5, 0), person(2, 5, 60)];
        let after = [person(1, 12, 0), person(2, 12, 60)];
        let ages = board(0, [&before, &after, &after]);
        assert_eq!(after.each_ref().map(|one| ages.minutes(one)), [18, 18]);
        assert_eq!(ages.note(), None);
        let one_came = [person(1, 5, 0), person(2, 12, 60)];
        let ages = board(0, [&before, &one_came, &one_came]);
        assert_eq!(one_came.each_ref().map(|one| ages.minutes(one)), [25, 18]);
        assert_eq!(ages.note(), None, "one clock isn't the board's");
        let ages = board(0, [&before, &before, &before]);
        assert_eq!(
            ages.minutes(&before[1]),
            0,
            "as long as it hasn't been seen to come"
        );
    }

    #[test]
    fn a_clock_that_jumps_while_the_board_is_open_changes_no_minutes() {
        let person = person(1, 12, 0);
        let mut ages = Ages::default();
        let look = |ages: &mut Ages, people: &[Person], minute: u64, date: i64| {
            let since_boot = Duration::from_secs(minute * 60);
            ages.look(people, since_boot, Timestamp::UNIX_EPOCH + minutes(date));
        };
        look(&mut ages, &[], 10, 10);
        look(&mut ages, std::slice::from_ref(&person), 12, 12);
        look(&mut ages, std::slice::from_ref(&person), 20, 500);
        assert_eq!(ages.minutes(&person), 8);
    }
}
