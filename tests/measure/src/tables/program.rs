//! Exercise 9: the program by itself, beside one that does nothing.

use super::see_it_yourself;
use workshop_results::figures::count;
use workshop_results::file::Comparison;
use workshop_results::shown::{Cell, Column, Table};

/// A program by itself, from its start to its end, beside one that does nothing.
#[derive(Debug)]
pub struct ProgramTimes {
    /// What was timed, as it is typed.
    pub command: String,
    /// The program that does nothing, whose time is what a process costs.
    pub nothing: ProgramTime,
    /// The program, by the length of its text.
    pub texts: Vec<TextTime>,
}

/// How long a program runs, in milliseconds: the geometric mean over the rounds of the medians of their runs.
#[derive(Debug)]
pub struct ProgramTime {
    /// The mean.
    pub ms: f64,
    /// The shortest of the rounds.
    pub least_ms: f64,
    /// The longest.
    pub most_ms: f64,
}

/// How long the program takes for a text.
#[derive(Debug)]
pub struct TextTime {
    /// Bytes of the text.
    pub text_bytes: usize,
    /// Bytes of its image.
    pub image_bytes: usize,
    /// How long.
    pub time: ProgramTime,
    /// Compared with the program that does nothing.
    pub against_nothing: Comparison,
}

/// A row for nothing, and one per text.
pub fn by_itself(program: &ProgramTimes) -> Table {
    let columns = ["From start to end (ms)", "Image (bytes)", "÷ nothing"];
    let mut table = Table::new("program", "The program by itself", Column::list(columns));
    let range = |time: &ProgramTime| Cell::Range {
        value: time.ms,
        least: time.least_ms,
        most: time.most_ms,
    };
    let nothing = vec![range(&program.nothing), Cell::Empty, Cell::Count(1)];
    table.row("A program that does nothing", nothing);
    for text in &program.texts {
        let cells = vec![
            range(&text.time),
            Cell::Count(text.image_bytes as u64),
            Some(&text.against_nothing).into(),
        ];
        table.row(
            format!("A text of {} bytes", count(text.text_bytes as u64)),
            cells,
        );
    }
    table.notes.push(see_it_yourself(&program.command));
    table
}
