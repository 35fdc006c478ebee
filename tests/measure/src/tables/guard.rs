//! Exercise 4: what a load generator takes for a success.

use std::collections::BTreeMap;

use super::{see_it_yourself, statuses};
use workshop_results::figures::figure;
use workshop_results::shown::{Cell, Column, Table};

/// The same load with a key that counts and with one that doesn't, on one process. It shows what a gate is for, and has no
/// interval: nothing is claimed from it.
#[derive(Debug)]
pub struct WrongKey {
    /// The load with the wrong key, as it is typed.
    pub command: String,
    /// How long each of the two ran, in seconds.
    pub seconds: f64,
    /// With a key that counts.
    pub right: KeyRun,
    /// With one that doesn't.
    pub wrong: KeyRun,
}

/// A run, as the load generator and as the gate see it.
#[derive(Debug)]
pub struct KeyRun {
    /// Answers per second.
    pub rate: f64,
    /// The share of successes by the generator's own count, 0 to 1.
    pub success: Option<f64>,
    /// How often each status came.
    pub statuses: BTreeMap<String, u64>,
    /// Why the gate refuses the run; none when it doesn't.
    pub refused: Option<String>,
}

/// Both runs side by side.
pub fn wrong_key(runs: &WrongKey) -> Table {
    let title = format!(
        "The tool lies: the same load with a right and a wrong key, {} s each",
        figure(runs.seconds)
    );
    let mut table = Table::new("wrong-key", title, Column::list(["Right key", "Wrong key"]));
    let mut row = |heading: &str, cell: &dyn Fn(&KeyRun) -> Cell| {
        table.row(heading, vec![cell(&runs.right), cell(&runs.wrong)]);
    };
    row("Answers per second", &|run| Cell::Number(run.rate));
    row("Successes, as oha counts (%)", &|run| {
        run.success.map(|share| share * 100.0).into()
    });
    row("Answers by status", &|run| {
        Cell::Text(statuses(&run.statuses))
    });
    row("The gate", &|run| match &run.refused {
        Some(reason) => Cell::Text(format!("refused: {reason}")),
        None => Cell::text("passed"),
    });
    table.notes.push(see_it_yourself(&runs.command));
    table
}
