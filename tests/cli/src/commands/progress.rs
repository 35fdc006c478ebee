//! `just progress`: where the learner is in the course, and the next command.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use workshop_base::exercise::Catalogue;

use crate::state;
use crate::state::CheckOutcome;
use workshop_base::exercise::Exercise;
use workshop_base::files;
use workshop_base::originals;
use workshop_base::outcome::Outcome;
use workshop_base::terminal::Style;
use workshop_base::terminal::paint;
use workshop_base::workspace::Workspace;

/// How far an exercise is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    NotStarted,
    Started,
    Passed { on: Timestamp, red_since: bool },
}

struct Row {
    name: String,
    title: String,
    minutes: String,
    stage: Stage,
    measured: bool,
}

/// Prints the table.
///
/// # Errors
/// When the exercises cannot be read.
pub fn run(workspace: &Workspace) -> anyhow::Result<Outcome> {
    let catalogue = Catalogue::read(workspace)?;
    let mut rows = Vec::new();
    let mut faults = Vec::new();
    for exercise in catalogue.iter() {
        rows.push(Row {
            name: exercise.name(),
            title: exercise.title.clone(),
            minutes: exercise.minutes.total().to_string(),
            stage: stage(workspace, exercise, &mut faults),
            measured: workspace
                .results()
                .join(format!("{}.json", exercise.name()))
                .is_file(),
        });
    }
    print(&rows);
    for fault in faults {
        eprintln!("warning: {fault}");
    }
    println!("\nnext: {}", next(&rows));
    Ok(Outcome::Passed)
}

fn stage(workspace: &Workspace, exercise: &Exercise, faults: &mut Vec<anyhow::Error>) -> Stage {
    let memory = state::recall(workspace, exercise);
    let red = memory
        .last_check
        .as_ref()
        .is_some_and(|check| check.outcome != CheckOutcome::Passed);
    if let Some(on) = memory.first_passed {
        return Stage::Passed { on, red_since: red };
    }
    if memory.last_check.is_some()
        || !is_starter(workspace, exercise).unwrap_or_else(|fault| {
            faults.push(fault);
            true
        })
    {
        return Stage::Started;
    }
    Stage::NotStarted
}

fn is_starter(workspace: &Workspace, exercise: &Exercise) -> anyhow::Result<bool> {
    let starter = originals::starter(workspace, exercise)?;
    let mine = originals::in_place(workspace, exercise)?;
    Ok(files::differing(&starter, &mine).is_empty())
}

fn print(rows: &[Row]) {
    let words = |stage: Stage| match stage {
        Stage::NotStarted => "not started".to_owned(),
        Stage::Started => "started".to_owned(),
        Stage::Passed { on, red_since } => {
            let day = on.to_zoned(TimeZone::system()).strftime("%Y-%m-%d");
            format!(
                "passed on {day}{}",
                if red_since {
                    ", red at the last check"
                } else {
                    ""
                }
            )
        }
    };
    let head = ["exercise", "title", "minutes", "state", "measured"].map(str::to_owned);
    let table: Vec<[String; 5]> = rows
        .iter()
        .map(|row| {
            let measured = if row.measured { "yes" } else { "no" };
            [
                row.name.clone(),
                row.title.clone(),
                row.minutes.clone(),
                words(row.stage),
                measured.to_owned(),
            ]
        })
        .collect();
    let widths: Vec<usize> = (0..head.len())
        .map(|column| {
            table
                .iter()
                .chain([&head])
                .map(|row| row[column].chars().count())
                .max()
                .unwrap_or(0)
        })
        .collect();
    let line = |cells: &[String; 5]| {
        let cell = |column: usize| {
            let text = &cells[column];
            let space = " ".repeat(widths[column] - text.chars().count());
            if column == 2 {
                format!("{space}{text}")
            } else {
                format!("{text}{space}")
            }
        };
        (0..cells.len())
            .map(cell)
            .collect::<Vec<_>>()
            .join("  ")
            .trim_end()
            .to_owned()
    };
    println!("{}", paint(Style::Strong, line(&head)));
    for (row, cells) in rows.iter().zip(&table) {
        match row.stage {
            Stage::Passed {
                red_since: false, ..
            } => println!("{}", paint(Style::Good, line(cells))),
            _ => println!("{}", line(cells)),
        }
    }
}

/// The first thing in the order of the course that is not done.
fn next(rows: &[Row]) -> String {
    for row in rows {
        match row.stage {
            Stage::Passed { .. } if row.measured => {}
            Stage::Passed { .. } => return format!("just measure {}", row.name),
            Stage::Started | Stage::NotStarted => return format!("just check {}", row.name),
        }
    }
    "everything is done and measured; just serve shows your figures in the book".to_owned()
}
