//! A table as the book's `{{#published …}}` reads it, written by a program of its own.

use std::path::Path;

use serde::Serialize;
use workshop_results::shown::Cell;

/// The table, with what the page says about it.
#[derive(Serialize)]
pub struct Published {
    pub lead: String,
    pub about: String,
    pub title: String,
    pub corner: String,
    pub columns: Vec<String>,
    pub row: Vec<Row>,
}

/// A row: its cells are in the order of the columns, and none is missing.
#[derive(Serialize)]
pub struct Row {
    pub heading: String,
    pub values: Vec<Cell>,
}

impl Published {
    /// Writes it into a file, such as `book/reference-results/tls.toml`.
    pub fn write(&self, file: &Path) -> anyhow::Result<()> {
        std::fs::write(file, toml::to_string(self)?)?;
        println!("written to {}", file.display());
        Ok(())
    }
}
