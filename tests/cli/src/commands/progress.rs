//! `just progress`: where the learner is in the course, and the next command.

use std::path::PathBuf;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use terminal_size::{Width, terminal_size};

use crate::katas;
use crate::room::Seat;
use crate::state::{self, Remembered};

use workshop_base::exercise::{Catalogue, Exercise, Kind};
use workshop_base::outcome::Outcome;
use workshop_base::terminal::{Style, paint};
use workshop_base::workspace::Workspace;
use workshop_base::{files, originals};

/// How far an exercise is: one line of the table.
struct Standing<'a> {
    exercise: &'a Exercise,
    started: bool,
    /// How many of its katas are green, where it has katas.
    green: Option<usize>,
    memory: Remembered,
    measured: bool,
}

/// Prints the table; before that takes a seat in the room, or gives it up.
pub fn run(
    workspace: &Workspace,
    to: Option<&(PathBuf, String)>,
    leave: bool,
) -> anyhow::Result<Outcome> {
    if let Some((folder, name)) = to {
        let seat = Seat::take(workspace, folder, name)?;
        println!(
            "From now on each check leaves a line in {}:",
            seat.file().display()
        );
        println!(
            "the exercise, red or green, the first red test, and when. Nothing else, and no code."
        );
        println!("next: just check exercise-2; just progress --leave ends it");
        return Ok(Outcome::Passed);
    }
    if leave {
        match Seat::give_up(workspace)? {
            Some(seat) => println!(
                "No more lines. Those that are there are yours to delete: {}",
                seat.file().display()
            ),
            None => println!("No check has left lines in a room."),
        }
        return Ok(Outcome::Passed);
    }
    let catalogue = Catalogue::read(workspace)?;
    let mut faults = Vec::new();
    let rows = catalogue
        .iter()
        .map(|exercise| Standing::of(workspace, exercise, &mut faults));
    let rows: Vec<Standing> = rows.collect();
    print(&rows);
    for fault in faults {
        eprintln!("warning: {fault}");
    }
    println!("\nnext: {}", next(&rows));
    Ok(Outcome::Passed)
}

impl<'a> Standing<'a> {
    /// An exercise whose files cannot be compared counts as untouched; why they cannot is told below the table.
    fn of(
        workspace: &Workspace,
        exercise: &'a Exercise,
        faults: &mut Vec<anyhow::Error>,
    ) -> Standing<'a> {
        let memory = state::recall(workspace, exercise);
        let mut started = memory.last_check.is_some() || memory.first_passed.is_some();
        if !started {
            match is_touched(workspace, exercise) {
                Ok(touched) => started = touched,
                Err(fault) => faults.push(fault),
            }
        }
        let green = katas::green(workspace, exercise).unwrap_or_else(|fault| {
            faults.push(fault);
            None
        });
        Standing {
            exercise,
            started,
            green,
            memory,
            measured: workspace.own_result(exercise.name()).is_file(),
        }
    }

    fn is_green(&self) -> bool {
        self.memory.is_green()
    }

    fn is_optional(&self) -> bool {
        !self.exercise.core
    }

    fn in_words(&self) -> String {
        let day = |at: Timestamp| at.to_zoned(TimeZone::system()).strftime("%Y-%m-%d");
        match (self.memory.skipped, self.memory.first_passed, self.green) {
            (Some(at), ..) => format!("skipped on {}", day(at)),
            (_, Some(at), _) if self.memory.is_red() => {
                format!("passed on {}, red at the last check", day(at))
            }
            (_, Some(at), _) => format!("passed on {}", day(at)),
            _ if !self.started && self.is_optional() => "not started, optional".to_owned(),
            _ if !self.started => "not started".to_owned(),
            (.., Some(green)) => format!("{green} of {} green", self.exercise.edit.len()),
            _ => "started".to_owned(),
        }
    }
}

fn is_touched(workspace: &Workspace, exercise: &Exercise) -> anyhow::Result<bool> {
    let starter = originals::starter(workspace, exercise)?;
    let mine = originals::in_place(workspace, exercise)?;
    Ok(!files::differing(&starter, &mine).is_empty())
}

/// Prints a table that fits into the terminal: long titles are cut.
fn print(rows: &[Standing]) {
    print!(
        "{}",
        table(
            rows,
            terminal_size().map(|(Width(columns), _)| columns.into())
        )
    );
}

fn table(rows: &[Standing], columns: Option<usize>) -> String {
    let widest = |texts: &mut dyn Iterator<Item = String>| {
        texts
            .map(|text| text.chars().count())
            .max()
            .unwrap_or_default()
    };
    let state = widest(&mut rows.iter().map(Standing::in_words)).max(5);
    let title = widest(&mut rows.iter().map(|row| row.exercise.title.clone()));
    // Beside these two: a name, minutes, the last column, and what is between them.
    let beside = 11 + 7 + 8 + 8 + state;
    let title = columns.map_or(title, |columns| {
        title.min(columns.saturating_sub(beside).max(8))
    });
    let line = |name: &str, text: &str, minutes: &str, words: &str, measured: &str| {
        let text = match text.chars().count() > title {
            true => text.chars().take(title - 1).chain(['…']).collect(),
            false => text.to_owned(),
        };
        format!("{name:<11}  {text:<title$}  {minutes:>7}  {words:<state$}  {measured}")
    };
    let head = line("exercise", "title", "minutes", "state", "measured");
    let mut text = paint(Style::Strong, head) + "\n";
    for row in rows {
        let exercise = row.exercise;
        let measured = match (row.measured, exercise.task()) {
            (true, _) => "yes",
            (false, Some(_)) => "no",
            (false, None) => "-",
        };
        let (name, minutes) = (exercise.name(), exercise.minutes.total().to_string());
        let line = line(&name, &exercise.title, &minutes, &row.in_words(), measured);
        text += &match row.is_green() {
            true => paint(Style::Good, line),
            false => line,
        };
        text.push('\n');
    }
    text
}

/// The first exercise in the order of the course that isn't green; none when all are that have to be.
pub fn next_to_do<'a>(workspace: &Workspace, catalogue: &'a Catalogue) -> Option<&'a Exercise> {
    // What is faulty is told by `just progress`.
    let rows = catalogue
        .iter()
        .map(|exercise| Standing::of(workspace, exercise, &mut Vec::new()));
    let rows: Vec<Standing> = rows.collect();
    not_done(&rows, |_| true).map(|row| row.exercise)
}

/// The first row that is neither skipped nor green and measured.
fn not_done<'r, 'a>(
    rows: &'r [Standing<'a>],
    is_measured: impl Fn(&Standing) -> bool,
) -> Option<&'r Standing<'a>> {
    let is_warm_up = |row: &Standing| row.exercise.kind == Kind::Katas;
    let is_past = rows.iter().any(|row| row.started && !is_warm_up(row));
    // The warm-up is for those who need it, and its last katas wait for later pages: it's left once something else has begun. A
    // track is for those who have begun it.
    let is_skipped = |row: &Standing| {
        let not_begun = row.is_optional() && !row.started;
        not_begun || is_warm_up(row) && is_past || row.memory.skipped.is_some()
    };
    rows.iter()
        .find(|row| !(is_skipped(row) || row.is_green() && is_measured(row)))
}

/// The first thing in the order of the course that is not done.
fn next(rows: &[Standing]) -> String {
    match not_done(rows, |row| row.measured || row.exercise.task().is_none()) {
        Some(row) if row.is_green() => format!("just measure {}", row.exercise.name()),
        Some(row) => format!("just check {}", row.exercise.name()),
        None if rows.iter().any(|row| row.is_optional() && !row.started) => {
            "the core way is done and measured; of the optional ones, take what you like".to_owned()
        }
        None => {
            "everything is done and measured; just serve shows your figures in the book".to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_fits_into_a_narrow_terminal_and_a_wide_one_cuts_nothing() -> anyhow::Result<()> {
        let workspace = Workspace::find()?;
        let catalogue = Catalogue::read(&workspace)?;
        let rows = catalogue.iter().map(|exercise| Standing {
            exercise,
            started: false,
            green: None,
            memory: Remembered::default(),
            measured: false,
        });
        let rows: Vec<Standing> = rows.collect();
        let narrow = table(&rows, Some(70));
        let longest = narrow.lines().map(|line| line.chars().count()).max();
        assert!(longest <= Some(70), "{narrow}");
        assert!(!table(&rows, Some(200)).contains('…'));
        Ok(())
    }

    #[test]
    fn an_optional_exercise_says_so_and_is_next_only_once_begun() -> anyhow::Result<()> {
        let workspace = Workspace::find()?;
        let catalogue = Catalogue::read(&workspace)?;
        let row = |number, started| {
            Ok::<_, anyhow::Error>(Standing {
                exercise: catalogue.get(number)?,
                started,
                green: None,
                memory: Remembered::default(),
                measured: false,
            })
        };
        assert_eq!(row(17, false)?.in_words(), "not started, optional");
        assert_eq!(row(8, false)?.in_words(), "not started");
        let rows = [row(17, false)?, row(11, false)?];
        assert_eq!(next(&rows), "just check exercise-11");
        assert_eq!(next(&[row(17, true)?]), "just check exercise-17");
        assert!(next(&[row(17, false)?]).starts_with("the core way is done"));
        // Five katas wait for later pages.
        let warming_up = [row(0, true)?, row(2, false)?];
        assert_eq!(next(&warming_up), "just check exercise-0");
        let past_it = [row(0, true)?, row(2, true)?];
        assert_eq!(next(&past_it), "just check exercise-2");
        Ok(())
    }
}
