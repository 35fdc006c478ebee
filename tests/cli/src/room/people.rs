//! Everybody in a room, as their files say. These are other people's, on a share: one may hang, lose a line, or be no file of lines.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use jiff::Timestamp;
use unicode_normalization::UnicodeNormalization;

use super::background::Background;
use super::line::{self, ENDING, LONGEST_TEXT, RoomLine};

use workshop_base::terminal::of_others;

/// The largest file of a person that is read, in bytes; a line has some hundred.
const LARGEST_FILE: u64 = 4_000_000;

/// How long a look waits for a file.
const PATIENCE: Duration = Duration::from_secs(3);

/// One person's lines, oldest first; at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    /// What tells two people of one name apart.
    pub id: String,
    /// What the checks have said.
    pub lines: Vec<RoomLine>,
}

/// What a look into the folder has found.
#[derive(Debug, Default)]
pub struct Look {
    /// Everybody, by name.
    pub people: Vec<Person>,
    /// What couldn't be read, and why.
    pub notes: Vec<String>,
}

/// What a file holds, or why it is left out.
type Content = Result<Vec<u8>, String>;

/// The folder of a room, which is looked at again and again. What hangs or is damaged now is shown as it was before.
pub struct Room {
    folder: PathBuf,
    read: Arc<dyn Fn(&Path) -> Content + Send + Sync>,
    listing: Background<(), anyhow::Result<Vec<PathBuf>>>,
    reading: Background<PathBuf, Content>,
    seen: BTreeMap<PathBuf, Person>,
}

impl Room {
    /// The room of this folder.
    pub fn at(folder: &Path) -> Room {
        Room::read_by(folder, PATIENCE, lines_of_a_person)
    }

    /// A room whose files are read in this way, which may take so long.
    pub(super) fn read_by(
        folder: &Path,
        limit: Duration,
        read: impl Fn(&Path) -> Content + Send + Sync + 'static,
    ) -> Room {
        Room {
            folder: folder.to_owned(),
            read: Arc::new(read),
            listing: Background::new(limit),
            reading: Background::new(limit),
            seen: BTreeMap::new(),
        }
    }

    /// Everybody in the folder, by name.
    pub fn look(&mut self) -> anyhow::Result<Look> {
        let folder = self.folder.clone();
        self.listing.ask((), move || files_of_people(&folder));
        let listed = self.listing.answer(&());
        let paths =
            listed.with_context(|| format!("{} doesn't answer", self.folder.display()))??;
        for path in &paths {
            let (read, file) = (Arc::clone(&self.read), path.clone());
            self.reading.ask(path.clone(), move || read(&file));
        }
        // A file that its owner has deleted is no person any more.
        self.seen.retain(|path, _| paths.contains(path));
        let mut notes = Vec::new();
        for path in &paths {
            let fault = match self.reading.answer(path) {
                None => Some("doesn't answer".to_owned()),
                Some(Err(why)) => Some(format!("is left out: {why}")),
                Some(Ok(bytes)) => self.take(path, &bytes),
            };
            let name = of_others(&file_name(path), LONGEST_TEXT);
            notes.extend(fault.map(|fault| format!("{name} {fault}")));
        }
        let mut people: Vec<Person> = self.seen.values().cloned().collect();
        people.sort_by_key(|person| (person.name_to_compare(), person.id.clone()));
        Ok(Look { people, notes })
    }

    /// Takes the lines of a file, of which there are never fewer than before: a share may lose some until it is written again.
    fn take(&mut self, path: &Path, bytes: &[u8]) -> Option<String> {
        let (lines, damaged) = line::read(bytes);
        let lines: Vec<RoomLine> = lines.into_iter().map(RoomLine::shown).collect();
        let fault = match (lines.len(), damaged) {
            (0, 0) => Some("is empty".to_owned()),
            (_, 0) => None,
            (_, 1) => Some("has a line that can't be read".to_owned()),
            (_, damaged) => Some(format!("has {damaged} lines that can't be read")),
        };
        let before = self.seen.get(path).map_or(0, |person| person.lines.len());
        if lines.len() > before || lines.len() == before && before > 0 {
            let id = file_name(path);
            let id = of_others(id.strip_suffix(&ending()).unwrap_or(&id), LONGEST_TEXT);
            self.seen.insert(path.to_owned(), Person { id, lines });
        }
        fault.map(|fault| format!("{fault}; the next check of its owner writes it anew"))
    }
}

fn ending() -> String {
    format!(".{ENDING}")
}

fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

fn files_of_people(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut paths: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| file_name(path).ends_with(&ending()))
        .collect();
    paths.sort();
    Ok(paths)
}

/// What a person's file holds. A pipe would never end, and a year of checks fits many times into the most that is read.
fn lines_of_a_person(path: &Path) -> Content {
    let about = fs::metadata(path).map_err(|error| error.to_string())?;
    if !about.is_file() {
        return Err("it isn't a file".to_owned());
    }
    if about.len() > LARGEST_FILE {
        let megabytes = LARGEST_FILE / 1_000_000;
        return Err(format!("it has more than {megabytes} MB"));
    }
    fs::read(path).map_err(|error| error.to_string())
}

impl Person {
    /// As the person is called since the last line.
    pub fn name(&self) -> &str {
        let name = self.last().map_or("", |line| &line.name);
        if line::is_visible(name) {
            name
        } else {
            &self.id
        }
    }

    /// The same for names that look or sound alike.
    pub fn name_to_compare(&self) -> String {
        self.name().nfkc().collect::<String>().to_lowercase()
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
    /// In whole minutes.
    pub median: i64,
}

/// The minutes of each exercise that somebody in the room has been green in. Who was green before the first check has a clock that was
/// set back, and counts for nothing.
pub fn minutes(people: &[Person]) -> BTreeMap<u8, RoomMinutes> {
    let mut took: BTreeMap<u8, Vec<i64>> = BTreeMap::new();
    for person in people {
        let mut first: BTreeMap<u8, Timestamp> = BTreeMap::new();
        let mut done: Vec<u8> = Vec::new();
        for line in &person.lines {
            let begun = *first.entry(line.exercise).or_insert(line.at);
            if line.green && !done.contains(&line.exercise) {
                done.push(line.exercise);
                if line.at >= begun {
                    let minutes = (line.at.as_second() - begun.as_second()) / 60;
                    took.entry(line.exercise).or_default().push(minutes);
                }
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
