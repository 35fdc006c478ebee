//! `just progress`: where the learner is in the course, and the next command.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::state::{self, CheckOutcome};

use workshop_base::exercise::{Catalogue, Exercise};
use workshop_base::outcome::Outcome;
use workshop_base::terminal::{Style, paint};
use workshop_base::workspace::Workspace;
use workshop_base::{files, originals};

/// How far an exercise is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    NotStarted,
    Started,
    Passed { on: Timestamp, red_since: bool },
}

/// One exercise of the table.
struct Row<'a> {
    exercise: &'a Exercise,
    stage: Stage,
    measured: bool,
}

/// Prints the table.
pub fn run(workspace: &Workspace) -> anyhow::Result<Outcome> {
    let catalogue = Catalogue::read(workspace)?;
    let mut faults = Vec::new();
    let rows: Vec<Row> = catalogue
        .iter()
        .map(|exercise| Row {
            exercise,
            stage: stage(workspace, exercise, &mut faults),
            measured: workspace
                .results()
                .join(format!("{}.json", exercise.name()))
                .is_file(),
        })
        .collect();
    print(&rows);
    for fault in faults {
        eprintln!("warning: {fault}");
    }
    println!("\nnext: {}", next(&rows));
    Ok(Outcome::Passed)
}

fn stage(workspace: &Workspace, exercise: &Exercise, faults: &mut Vec<anyhow::Error>) -> Stage {
    let memory = state::recall(workspace, exercise);
    let red = |check: &state::LastCheck| check.outcome != CheckOutcome::Passed;
    if let Some(on) = memory.first_passed {
        let red_since = memory.last_check.as_ref().is_some_and(red);
        return Stage::Passed { on, red_since };
    }
    let untouched = is_starter(workspace, exercise).unwrap_or_else(|fault| {
        faults.push(fault);
        true
    });
    if memory.last_check.is_some() || !untouched {
        Stage::Started
    } else {
        Stage::NotStarted
    }
}

fn is_starter(workspace: &Workspace, exercise: &Exercise) -> anyhow::Result<bool> {
    let starter = originals::starter(workspace, exercise)?;
    let mine = originals::in_place(workspace, exercise)?;
    Ok(files::differing(&starter, &mine).is_empty())
}

fn print(rows: &[Row]) {
    let titles = rows.iter().map(|row| row.exercise.title.chars().count());
    let width = titles.max().unwrap_or(0);
    let line = |name: &str, title: &str, minutes: &str, state: &str, measured: &str| {
        format!("{name:<11}  {title:<width$}  {minutes:>7}  {state:<41}  {measured}")
    };
    let head = line("exercise", "title", "minutes", "state", "measured");
    println!("{}", paint(Style::Strong, head));
    for Row {
        exercise,
        stage,
        measured,
    } in rows
    {
        let measured = match (measured, exercise.task()) {
            (true, _) => "yes",
            (false, Some(_)) => "no",
            (false, None) => "-",
        };
        let minutes = exercise.minutes.total().to_string();
        let state = in_words(*stage);
        let line = line(
            &exercise.name(),
            &exercise.title,
            &minutes,
            &state,
            measured,
        );
        let green = matches!(stage, Stage::Passed { red_since, .. } if !red_since);
        println!(
            "{}",
            if green {
                paint(Style::Good, line)
            } else {
                line
            }
        );
    }
}

fn in_words(stage: Stage) -> String {
    match stage {
        Stage::NotStarted => "not started".to_owned(),
        Stage::Started => "started".to_owned(),
        Stage::Passed { on, red_since } => {
            let day = on.to_zoned(TimeZone::system()).strftime("%Y-%m-%d");
            let since = if red_since {
                ", red at the last check"
            } else {
                ""
            };
            format!("passed on {day}{since}")
        }
    }
}

/// The first thing in the order of the course that is not done.
fn next(rows: &[Row]) -> String {
    for row in rows {
        let name = row.exercise.name();
        match row.stage {
            Stage::Passed {
                red_since: false, ..
            } if row.measured || row.exercise.task().is_none() => {}
            Stage::Passed {
                red_since: false, ..
            } => return format!("just measure {name}"),
            _ => return format!("just check {name}"),
        }
    }
    "everything is done and measured; just serve shows your figures in the book".to_owned()
}
