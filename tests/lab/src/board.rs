//! `just board`: what everybody in a room has measured, on one page for the last slide; how everybody is doing now; and the minutes
//! that the exercises took.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;

use workshop_base::exercise::Catalogue;
use workshop_base::files;
use workshop_base::outcome::{Outcome, Trouble};
use workshop_base::workspace::Workspace;
use workshop_results::board::Board;
use workshop_results::write::escape;

use workshop::room::{self, Background, Person, Room, RoomLine};
use workshop_base::clock;
use workshop_base::terminal::{before_more, columns, of_others};

use crate::ages::Ages;

/// How often the lines are read again. Shares and synced folders have no events that one could wait for.
const AGAIN: Duration = Duration::from_secs(2);

/// The longest line about a file of somebody else's, in columns.
const LONGEST_FAULT: usize = 300;

/// How long the board waits for its page to be written.
const PATIENCE: Duration = Duration::from_secs(3);

/// Writes `board.html` into the folder that holds the people's results.
pub fn run(workspace: &Workspace, folder: &Path) -> anyhow::Result<Outcome> {
    let board = Board::gather(folder)?;
    for fault in &board.left_out {
        println!("left out: {}", of_others(fault, LONGEST_FAULT));
    }
    let shown = folder.display();
    if board.count() == 0 {
        return Trouble::new(format!("{shown} has no result for the board"))
            .expected(format!(
                "a folder per person, each with a copy of that person's results: {shown}/ada/results/exercise-3.json"
            ))
            .next(format!("copy them there, then just board {shown}"))
            .err();
    }
    let style = files::text(&workspace.book().join("theme/workshop.css"))?;
    let page = board.page(&Catalogue::read(workspace)?, &style);
    let path = folder.join("board.html");
    files::write_atomically(&path, page.as_bytes())?;
    let (count, plural) = (board.count(), if board.count() == 1 { "" } else { "s" });
    println!("{} holds {count} measurement{plural}.", path.display());
    println!("next: open it in a browser; it's a single file and needs no network");
    Ok(Outcome::Passed)
}

/// Shows how everybody is doing, until it is ended; once, where standard output is no terminal. The page in the folder renews itself.
pub async fn live(workspace: &Workspace, folder: &Path) -> anyhow::Result<Outcome> {
    let catalogue = Catalogue::read(workspace)?;
    let style = files::text(&workspace.book().join("theme/workshop.css"))?;
    let (mut room, mut ages) = (Room::at(folder), Ages::default());
    let mut page = LivePage::of(folder);
    let mut look = room.look()?;
    let repeats = std::io::stdout().is_terminal();
    loop {
        ages.look(&look.people, clock::since_boot(), Timestamp::now());
        look.notes.extend(ages.note());
        let rows = rows(&catalogue, &look.people, &ages);
        look.notes
            .extend(page.write(live_page(&rows, &look.notes, &style)));
        if repeats {
            print!("\x1b[2J\x1b[H");
        }
        print!("{}", in_columns(&rows));
        for note in &look.notes {
            println!("note: {note}");
        }
        println!("the same as a page: {}", page.path.display());
        if !repeats {
            return Ok(Outcome::Passed);
        }
        tokio::time::sleep(AGAIN).await;
        look.notes.clear();
        match room.look() {
            Ok(read) => look = read,
            Err(error) => look
                .notes
                .push(format!("{error:#}: this is how it was before")),
        }
    }
}

/// The page in the room's folder, which may be full, away or slow for a while.
struct LivePage {
    path: PathBuf,
    writing: Background<(), anyhow::Result<()>>,
}

impl LivePage {
    fn of(folder: &Path) -> LivePage {
        LivePage {
            path: folder.join("live.html"),
            writing: Background::new(PATIENCE),
        }
    }

    /// Writes it, or says why it is an older one.
    fn write(&mut self, page: String) -> Option<String> {
        let path = self.path.clone();
        let write = move || files::write_atomically(&path, page.as_bytes());
        self.writing.ask((), write);
        match self.writing.answer(&()) {
            None => Some("the page isn't renewed: the folder doesn't answer".to_owned()),
            Some(Err(error)) => Some(format!("the page isn't renewed: {error:#}")),
            Some(Ok(())) => None,
        }
    }
}

/// Compares the minutes that people took with those on the pages.
pub fn minutes(workspace: &Workspace, folder: &Path) -> anyhow::Result<Outcome> {
    let catalogue = Catalogue::read(workspace)?;
    let look = Room::at(folder).look()?;
    for note in &look.notes {
        eprintln!("note: {note}");
    }
    let took = room::minutes(&look.people);
    if took.is_empty() {
        println!(
            "Nobody in {} has been green in an exercise yet.",
            folder.display()
        );
        return Ok(Outcome::Passed);
    }
    println!(
        "{:<11}  {:>6}  {:>6}  {:>8}",
        "exercise", "people", "median", "its page"
    );
    for (number, minutes) in took {
        // A laptop may be ahead of this checkout.
        let (name, planned) = match catalogue.get(number) {
            Ok(exercise) => (exercise.name(), exercise.minutes.doing.to_string()),
            Err(_) => (format!("exercise-{number}"), "?".to_owned()),
        };
        println!(
            "{name:<11}  {:>6}  {:>6}  {planned:>8}",
            minutes.people, minutes.median
        );
    }
    println!(
        "\nMinutes from the first check to the first green one: what is read and typed before that isn't in them."
    );
    Ok(Outcome::Passed)
}

/// Name, exercise, state, first red test, minutes since the last check; the titles first.
fn rows(catalogue: &Catalogue, people: &[Person], ages: &Ages) -> Vec<[String; 5]> {
    let titles = ["name", "exercise", "state", "first red", "minutes"].map(str::to_owned);
    let row = |person: &Person| {
        let line: &RoomLine = person.last()?;
        let title = catalogue
            .get(line.exercise)
            .map_or_else(|_| String::new(), |exercise| format!(" {}", exercise.title));
        Some([
            label(person, people),
            format!("{}{title}", line.exercise),
            if line.green { "green" } else { "red" }.to_owned(),
            line.red.clone().unwrap_or_default(),
            ages.minutes(person).to_string(),
        ])
    };
    std::iter::once(titles)
        .chain(people.iter().filter_map(row))
        .collect()
}

/// The name, and as much of the id as tells people of one name apart.
fn label(person: &Person, people: &[Person]) -> String {
    let name = before_more(person.name());
    let is_twin = |other: &&Person| {
        other.id != person.id && other.name_to_compare() == person.name_to_compare()
    };
    let begin_alike = |other: &Person| {
        let pairs = person.id.chars().zip(other.id.chars());
        pairs.take_while(|(one, other)| one == other).count()
    };
    let Some(alike) = people.iter().filter(is_twin).map(begin_alike).max() else {
        return name;
    };
    let id: String = person.id.chars().take(2.max(alike + 1)).collect();
    format!("{name} ({id})")
}

fn in_columns(rows: &[[String; 5]]) -> String {
    let width = |column: usize| {
        let widths = rows.iter().map(|row| columns(&row[column]));
        widths.max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..5).map(width).collect();
    let line = |row: &[String; 5]| {
        let cells = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| cell.clone() + &" ".repeat(width - columns(cell)));
        let line: Vec<String> = cells.collect();
        line.join("  ").trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}

fn live_page(rows: &[[String; 5]], notes: &[String], style: &str) -> String {
    let row = |(number, row): (usize, &[String; 5])| {
        let tag = if number == 0 { "th" } else { "td" };
        let cells: String = row
            .iter()
            .map(|cell| format!("<{tag}>{}</{tag}>", escape(cell)))
            .collect();
        format!("<tr>{cells}</tr>\n")
    };
    let rows: String = rows.iter().enumerate().map(row).collect();
    let notes = notes
        .iter()
        .map(|note| format!("<p>{}</p>\n", escape(note)));
    let notes: String = notes.collect();
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\" class=\"light js\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"refresh\" content=\"5\">\n<title>The room</title>\n\
         <style>\n{style}\nbody {{ padding: 2rem; font-size: 2rem }}\ntd, th {{ padding: 0.3rem 1.5rem 0.3rem 0; text-align: left }}\n</style>\n\
         </head>\n<body>\n<table>\n{rows}</table>\n{notes}</body>\n</html>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// People whose last check was at the epoch, seen seven minutes after that.
    fn shown(people: &[Person]) -> anyhow::Result<Vec<[String; 5]>> {
        let catalogue = Catalogue::read(&Workspace::find()?)?;
        let now = Timestamp::UNIX_EPOCH + jiff::SignedDuration::from_mins(7);
        let mut ages = Ages::default();
        ages.look(people, Duration::ZERO, now);
        Ok(rows(&catalogue, people, &ages))
    }

    fn person(id: &str, name: &str, red: Option<&str>) -> Person {
        Person {
            id: id.into(),
            lines: vec![RoomLine {
                at: Timestamp::UNIX_EPOCH,
                name: name.into(),
                exercise: 3,
                green: red.is_none(),
                red: red.map(str::to_owned),
            }],
        }
    }

    #[test]
    fn a_person_is_one_line_and_two_of_one_name_are_told_apart() -> anyhow::Result<()> {
        let rows = shown(&[
            person("a1b2", "Ada", None),
            person("a1c3", "ada", Some("a_test")),
            person("e5f6", "<b>Bo", None),
            person("李雷", "Li", None),
            person("李四", "Li", None),
        ])?;
        let shown = in_columns(&rows);
        assert!(
            shown.contains("Ada (a1b)  3 Read a record  green"),
            "{shown}"
        );
        assert!(
            shown.contains("ada (a1c)  3 Read a record  red    a_test     7"),
            "{shown}"
        );
        assert!(shown.contains("Li (李雷)"), "{shown}");
        let page = live_page(&rows, &["<i>".to_owned()], "");
        assert!(page.contains("<td>&lt;b&gt;Bo</td>") && page.contains("<p>&lt;i&gt;</p>"));
        Ok(())
    }

    #[test]
    fn whatever_the_script_of_a_name_the_columns_are_straight() -> anyhow::Result<()> {
        let names = ["Ada", "李雷", "עדה", "Jose\u{301}", "👩\u{200d}💻"];
        let people = names.map(|name| person(name, name, None));
        let shown = in_columns(&shown(&people)?);
        for (line, name) in shown.lines().skip(1).zip(names) {
            let (before, _) = line.split_once("3 Read").unwrap_or((line, ""));
            assert_eq!(columns(before), 6, "{line:?}");
            let ended = name.replace("עדה", "עדה\u{200e}");
            assert_eq!(
                before.trim_end(),
                ended,
                "the line goes on from left to right"
            );
        }
        Ok(())
    }
}
