//! `just board`: what everybody in a room has measured, on one page for the last slide; how everybody is doing now; and the minutes
//! that the exercises took.

use std::io::IsTerminal;
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;

use workshop_base::exercise::Catalogue;
use workshop_base::files;
use workshop_base::outcome::{Outcome, Trouble};
use workshop_base::workspace::Workspace;
use workshop_results::board::Board;
use workshop_results::write::escape;

use crate::people::{self, Person};
use workshop::room::RoomLine;

/// How often the lines are read again. Shares and synced folders have no events that one could wait for.
const AGAIN: Duration = Duration::from_secs(2);

/// Writes `board.html` into the folder that holds the people's results.
pub fn run(workspace: &Workspace, folder: &Path) -> anyhow::Result<Outcome> {
    let board = Board::gather(folder)?;
    for fault in &board.left_out {
        println!("left out: {fault}");
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
    let page = folder.join("live.html");
    let mut people = people::of(folder)?;
    let repeats = std::io::stdout().is_terminal();
    loop {
        let (now, mut away) = (Timestamp::now(), String::new());
        match people::of(folder) {
            Ok(read) => people = read,
            Err(error) => away = format!("{error:#}: this is how it was before\n"),
        }
        let rows = rows(&catalogue, &people, now);
        if away.is_empty() {
            files::write_atomically(&page, live_page(&rows, &style).as_bytes())?;
        }
        if repeats {
            print!("\x1b[2J\x1b[H");
        }
        println!("{}{away}", in_columns(&rows));
        println!("the same as a page: {}", page.display());
        if !repeats {
            return Ok(Outcome::Passed);
        }
        tokio::time::sleep(AGAIN).await;
    }
}

/// Compares the minutes that people took with those on the pages.
pub fn minutes(workspace: &Workspace, folder: &Path) -> anyhow::Result<Outcome> {
    let catalogue = Catalogue::read(workspace)?;
    let took = people::minutes(&people::of(folder)?);
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
fn rows(catalogue: &Catalogue, people: &[Person], now: Timestamp) -> Vec<[String; 5]> {
    let titles = ["name", "exercise", "state", "first red", "minutes"].map(str::to_owned);
    let row = |person: &Person| {
        let line: &RoomLine = person.last()?;
        let title = catalogue
            .get(line.exercise)
            .map_or_else(|_| String::new(), |exercise| format!(" {}", exercise.title));
        let twins = people
            .iter()
            .filter(|other| other.name() == person.name())
            .count();
        let name = match twins {
            1 => line.name.clone(),
            _ => {
                let id: String = person.id.chars().take(2).collect();
                format!("{} ({id})", line.name)
            }
        };
        // Laptops' clocks differ: one that is ahead has checked just now.
        let minutes = (now.as_second() - line.at.as_second()).max(0) / 60;
        Some([
            name,
            format!("{}{title}", line.exercise),
            if line.green { "green" } else { "red" }.to_owned(),
            line.red.clone().unwrap_or_default(),
            minutes.to_string(),
        ])
    };
    std::iter::once(titles)
        .chain(people.iter().filter_map(row))
        .collect()
}

fn in_columns(rows: &[[String; 5]]) -> String {
    let width = |column: usize| {
        rows.iter()
            .map(|row| row[column].chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..5).map(width).collect();
    let line = |row: &[String; 5]| {
        let cells = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell:<width$}"));
        let line: Vec<String> = cells.collect();
        line.join("  ").trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}

fn live_page(rows: &[[String; 5]], style: &str) -> String {
    let row = |(number, row): (usize, &[String; 5])| {
        let tag = if number == 0 { "th" } else { "td" };
        let cells: String = row
            .iter()
            .map(|cell| format!("<{tag}>{}</{tag}>", escape(cell)))
            .collect();
        format!("<tr>{cells}</tr>\n")
    };
    let rows: String = rows.iter().enumerate().map(row).collect();
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\" class=\"light js\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"refresh\" content=\"5\">\n<title>The room</title>\n\
         <style>\n{style}\nbody {{ padding: 2rem; font-size: 2rem }}\ntd, th {{ padding: 0.3rem 1.5rem 0.3rem 0; text-align: left }}\n</style>\n\
         </head>\n<body>\n<table>\n{rows}</table>\n</body>\n</html>\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_is_one_line_and_two_of_one_name_are_told_apart() -> anyhow::Result<()> {
        let catalogue = Catalogue::read(&Workspace::find()?)?;
        let now = Timestamp::UNIX_EPOCH + jiff::SignedDuration::from_mins(7);
        let person = |id: &str, name: &str, red: Option<&str>| Person {
            id: id.into(),
            lines: vec![RoomLine {
                at: Timestamp::UNIX_EPOCH,
                name: name.into(),
                exercise: 3,
                green: red.is_none(),
                red: red.map(str::to_owned),
            }],
        };
        let people = [
            person("a1b2", "Ada", None),
            person("c3d4", "Ada", Some("a_test")),
            person("e5f6", "<b>Bo", None),
            person("李雷", "Li", None),
            person("李四", "Li", None),
        ];
        let rows = rows(&catalogue, &people, now);
        let shown = in_columns(&rows);
        assert!(
            shown.contains("Ada (a1)  3 Read a record  green"),
            "{shown}"
        );
        assert!(
            shown.contains("Ada (c3)  3 Read a record  red    a_test     7"),
            "{shown}"
        );
        assert!(live_page(&rows, "").contains("<td>&lt;b&gt;Bo</td>"));
        Ok(())
    }
}
