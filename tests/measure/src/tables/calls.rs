//! Exercises 10 and 11: calls of Rust inside the JVM, by size, beside the same in Kotlin.

use workshop_results::figures::count;
use workshop_results::file::Comparison;
use workshop_results::shown::{Cell, Column, Table};

/// A call that Rust answers, beside the same in Kotlin.
#[derive(Debug)]
pub struct CallTime {
    /// What is called: `copy` or `code`.
    pub call: String,
    /// The bytes that it is given.
    pub bytes: usize,
    /// The geometric mean of Kotlin's rounds, in microseconds.
    pub kotlin_us: f64,
    /// That of the rounds through the border.
    pub rust_us: f64,
    /// That of the rounds with the interpreter: exercise 10 only.
    pub interpreted_us: Option<f64>,
    /// Rust compared with Kotlin.
    pub rust_against_kotlin: Comparison,
}

/// A row per call.
pub fn calls(calls: &[CallTime]) -> Table {
    let columns = ["Kotlin", "Rust", "Rust ÷ Kotlin"];
    let mut table = Table::new(
        "calls",
        "A call inside the JVM, in µs",
        Column::list(columns),
    );
    for call in calls {
        let cells = vec![
            Cell::Number(call.kotlin_us),
            Cell::Number(call.rust_us),
            Some(&call.rust_against_kotlin).into(),
        ];
        let bytes = count(call.bytes as u64);
        table.row(format!("A {} of {bytes} bytes", call.call), cells);
        if let Some(interpreted) = call.interpreted_us {
            table.row(
                "the same, interpreted",
                vec![Cell::Empty, Cell::Number(interpreted)],
            );
        }
    }
    table
}
