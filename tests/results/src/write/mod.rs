//! The writers: what is shown as text for the terminal, and as HTML.

pub mod html;
pub mod svg;
pub mod text;

use crate::figures::{NONE, figure, interval};
use crate::shown::{Cell, Ratio};

/// The text with everything escaped that HTML reads as markup, in content and in quoted attributes alike.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// The text with its commands, which stand in backticks, as `code` has them, and all else as `prose` has it.
fn with_code(text: &str, prose: fn(&str) -> String, code: fn(&str) -> String) -> String {
    let parts = text.split('`').enumerate();
    parts
        .map(|(place, part)| {
            if place % 2 == 0 {
                prose(part)
            } else {
                code(part)
            }
        })
        .collect()
}

/// A cell in words, for the writers that have no markup for its parts.
fn plain(cell: &Cell) -> String {
    match cell {
        Cell::Empty => NONE.to_owned(),
        Cell::Count(count) => crate::figures::count(*count),
        Cell::Number(value) => figure(*value),
        Cell::Text(text) => text.clone(),
        Cell::Range { value, least, most } => {
            let interval = interval(Some(*least), Some(*most)).unwrap_or_default();
            format!("{} ({interval})", figure(*value))
        }
        Cell::Ratio(ratio) => in_words(ratio),
    }
}

/// `0.29 (0.27 to 0.31), faster`; `invalid: why`.
fn in_words(ratio: &Ratio) -> String {
    let Some(value) = ratio.ratio.filter(|_| !ratio.says_nothing()) else {
        return verdict(ratio);
    };
    let interval = interval(ratio.low, ratio.high);
    let interval = interval.map_or_else(String::new, |interval| format!(" ({interval})"));
    format!("{}{interval}, {}", figure(value), verdict(ratio))
}

fn verdict(ratio: &Ratio) -> String {
    match &ratio.reason {
        Some(reason) => format!("{}: {reason}", ratio.verdict),
        None if ratio.says_nothing() => "undecided: the rounds differ too much".to_owned(),
        None => ratio.verdict.to_string(),
    }
}

/// True for what is aligned to the right of its column.
fn is_number(cell: &Cell) -> bool {
    !matches!(cell, Cell::Text(_))
}
