//! The people of a room, by the lines that their checks have left there.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::Context;
use jiff::Timestamp;

use workshop::room::{ENDING, RoomLine};

/// The longest text of another person's that is shown, in characters.
const LONGEST_TEXT: usize = 100;

/// The largest file of a person that is read, in bytes; a line has some hundred.
const LARGEST_FILE: u64 = 4_000_000;

/// One person's lines, oldest first; at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    /// What tells two people of one name apart.
    pub id: String,
    /// What the checks have said.
    pub lines: Vec<RoomLine>,
}

/// Everybody in the folder, by name. A line that cannot be read, as one that is just being synced, is left out. The files are other
/// people's: what isn't a file of lines is left out with a note.
pub fn of(folder: &Path) -> anyhow::Result<Vec<Person>> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut people = Vec::new();
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let Some(id) = name.strip_suffix(&format!(".{ENDING}")) else {
            continue;
        };
        let text = match lines_of_a_person(&path) {
            Ok(text) => text,
            Err(why) => {
                eprintln!("note: {} is left out: {why}", shown(&name));
                continue;
            }
        };
        let lines = text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .map(shown_line);
        let lines: Vec<RoomLine> = lines.collect();
        if !lines.is_empty() {
            let id = shown(id);
            people.push(Person { id, lines });
        }
    }
    people.sort_by_key(|person| (person.name().to_lowercase(), person.id.clone()));
    Ok(people)
}

/// The text of a person's file. A pipe would never end, and a year of checks fits many times into the most that is read.
fn lines_of_a_person(path: &Path) -> Result<String, String> {
    let about = fs::metadata(path).map_err(|error| error.to_string())?;
    if !about.is_file() {
        return Err("it isn't a file".to_owned());
    }
    if about.len() > LARGEST_FILE {
        let megabytes = LARGEST_FILE / 1_000_000;
        return Err(format!("it has more than {megabytes} MB"));
    }
    let bytes = fs::read(path).map_err(|error| error.to_string())?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A text of somebody else's on one line, without what a terminal takes for a command, and no longer than a screen is wide.
fn shown(text: &str) -> String {
    let is_hidden = |char: &char| matches!(*char, '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let chars = text.chars().filter(|char| !is_hidden(char));
    let chars = chars.map(|char| if char.is_control() { ' ' } else { char });
    chars.take(LONGEST_TEXT).collect()
}

/// A line as it can be shown.
fn shown_line(mut line: RoomLine) -> RoomLine {
    line.name = shown(&line.name);
    line.red = line.red.as_deref().map(shown);
    line
}

impl Person {
    /// As the person is called since the last line.
    pub fn name(&self) -> &str {
        self.last().map_or("", |line| &line.name)
    }

    /// What the last check has said.
    pub fn last(&self) -> Option<&RoomLine> {
        self.lines.last()
    }
}

/// How the minutes of an exercise came out: for how many people, and the median from the first check to the first green one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoomMinutes {
    /// How many have been green.
    pub people: usize,
    pub median: i64,
}

/// The minutes of each exercise that somebody in the room has been green in.
pub fn minutes(people: &[Person]) -> BTreeMap<u8, RoomMinutes> {
    let mut took: BTreeMap<u8, Vec<i64>> = BTreeMap::new();
    for person in people {
        let mut first: BTreeMap<u8, Timestamp> = BTreeMap::new();
        let mut done: Vec<u8> = Vec::new();
        for line in &person.lines {
            let begun = *first.entry(line.exercise).or_insert(line.at);
            if line.green && !done.contains(&line.exercise) {
                done.push(line.exercise);
                let minutes = (line.at.as_second() - begun.as_second()) / 60;
                took.entry(line.exercise).or_default().push(minutes);
            }
        }
    }
    let median = |mut all: Vec<i64>| {
        all.sort_unstable();
        // Of an even number of people it's between the two in the middle.
        let (people, middle) = (all.len(), all.len() / 2);
        let median = i64::midpoint(all[(people - 1) / 2], all[middle]);
        RoomMinutes { people, median }
    };
    took.into_iter()
        .map(|(exercise, all)| (exercise, median(all)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use workshop::room::{Seat, note};
    use workshop::state::{CheckOutcome, Fault, LastCheck};
    use workshop_base::exercise::Catalogue;
    use workshop_base::workspace::Workspace;

    fn checked(workspace: &Workspace, number: u8, red: Option<&str>) -> anyhow::Result<()> {
        let catalogue = Catalogue::read(&Workspace::find()?)?;
        let (outcome, faults) = match red {
            None => (CheckOutcome::Passed, Vec::new()),
            Some(test) => (CheckOutcome::Failed, vec![Fault::new(test, "")]),
        };
        note(
            workspace,
            catalogue.get(number)?,
            &LastCheck::now(outcome, faults),
        );
        Ok(())
    }

    fn laptop(folder: &Path, number: usize) -> anyhow::Result<Workspace> {
        let root = folder.join(format!("laptop-{number}"));
        fs::create_dir_all(&root)?;
        Ok(Workspace::at(root))
    }

    #[test]
    fn twenty_people_write_at_the_same_time_and_two_may_have_one_name() -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let room = folder.path().join("room");
        fs::create_dir(&room)?;
        let laptops: Vec<Workspace> = (0..20)
            .map(|number| laptop(folder.path(), number))
            .collect::<anyhow::Result<_>>()?;
        std::thread::scope(|scope| {
            for laptop in &laptops {
                scope.spawn(|| {
                    Seat::take(laptop, &room, "Ada / the 1st").expect("a seat");
                    for number in 0..10 {
                        let red = (number < 9).then_some("a_known_id_answers_its_record");
                        checked(laptop, 3, red).expect("a line");
                    }
                });
            }
        });
        let people = of(&room)?;
        assert_eq!(people.len(), 20);
        assert!(
            people
                .iter()
                .all(|person| person.lines.len() == 10
                    && person.last().is_some_and(|line| line.green))
        );
        Ok(())
    }

    #[test]
    fn a_room_that_was_away_gets_all_lines_with_the_next_check() -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let (room, away) = (folder.path().join("room"), folder.path().join("away"));
        fs::create_dir(&room)?;
        let laptop = laptop(folder.path(), 1)?;
        Seat::take(&laptop, &room, "Ada")?;
        checked(&laptop, 3, Some("a_test"))?;
        fs::rename(&room, &away)?;
        checked(&laptop, 3, Some("another_test"))?;
        assert!(!room.exists(), "a share that is away is not made anew");
        fs::rename(&away, &room)?;
        Seat::take(&laptop, &room, "Grace")?;
        checked(&laptop, 3, None)?;
        let found = of(&room)?;
        let called: Vec<&str> = found.iter().map(Person::name).collect();
        assert_eq!(called, ["Grace"], "who takes another name stays one person");
        let reds: Vec<_> = of(&room)?[0]
            .lines
            .iter()
            .map(|line| line.red.clone())
            .collect();
        assert_eq!(
            reds,
            [
                Some("a_test".to_owned()),
                Some("another_test".to_owned()),
                None
            ]
        );
        Seat::give_up(&laptop)?;
        checked(&laptop, 4, None)?;
        assert_eq!(
            of(&room)?[0].lines.len(),
            3,
            "who has given up the seat leaves no line"
        );
        Ok(())
    }

    #[test]
    fn a_name_has_to_fit_the_board_and_the_folder_has_to_be_there() -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let laptop = laptop(folder.path(), 1)?;
        for name in [
            "",
            " \t",
            "a name that is longer than thirty characters",
            "a\u{7}",
        ] {
            assert!(
                Seat::take(&laptop, folder.path(), name).is_err(),
                "{name:?}"
            );
        }
        assert!(Seat::take(&laptop, &folder.path().join("nowhere"), "Ada").is_err());
        assert_eq!(Seat::of(&laptop), None);
        let seat = Seat::take(&laptop, folder.path(), "  Ada   Lovelace ")?;
        assert_eq!(
            Seat::take(&laptop, folder.path(), "Ada")?.id,
            seat.id,
            "who is renamed stays one person"
        );
        assert_eq!(seat.name, "Ada Lovelace");
        Ok(())
    }

    #[test]
    fn minutes_count_from_the_first_check_to_the_first_green_one() {
        let line = |minute: i64, exercise, green| RoomLine {
            at: Timestamp::UNIX_EPOCH + jiff::SignedDuration::from_mins(minute),
            name: "Ada".into(),
            exercise,
            green,
            red: None,
        };
        let person = |took: i64| Person {
            id: String::new(),
            lines: vec![
                line(0, 3, false),
                line(took, 3, true),
                line(99, 3, true),
                line(100, 4, false),
            ],
        };
        let minutes = minutes(&[person(10), person(40), person(30)]);
        assert_eq!(
            minutes.get(&3),
            Some(&RoomMinutes {
                people: 3,
                median: 30
            })
        );
        assert_eq!(minutes.get(&4), None, "nobody was green");
        let minutes = super::minutes(&[person(10), person(40)]);
        assert_eq!(minutes.get(&3).map(|minutes| minutes.median), Some(25));
    }

    #[test]
    fn files_of_others_that_hold_no_lines_are_left_out() -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let file = |name: &str| folder.path().join(format!("{name}.{ENDING}"));
        let line = |name: &str, red: &str| {
            let (name, red) = (serde_json::json!(name), serde_json::json!(red));
            format!(
                "{{\"at\":\"2026-01-01T00:00:00Z\",\"name\":{name},\"exercise\":3,\"green\":false,\"red\":{red}}}\n"
            )
        };
        fs::write(file("a"), line("A\u{1b}[2J\u{202e}da", "a_test\nanother"))?;
        fs::write(file("b"), "[".repeat(5_000_000))?;
        nix::unistd::mkfifo(&file("c"), nix::sys::stat::Mode::S_IRWXU)?;
        let people = of(folder.path())?;
        assert_eq!(people.len(), 1);
        let line = people[0].last().expect("a line");
        assert_eq!(
            (&*line.name, line.red.as_deref()),
            ("A [2Jda", Some("a_test another"))
        );
        Ok(())
    }
}
