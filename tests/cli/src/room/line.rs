//! One line of a room: what a check has said. A share or a power cut may leave half of it, or nothing but NUL bytes.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization;

use workshop_base::terminal::{columns, of_others};

/// The longest name of a person, in columns.
pub(super) const LONGEST_NAME: usize = 30;

/// The longest text of another person's that is shown, in columns.
pub(super) const LONGEST_TEXT: usize = 100;

/// The ending of a person's file.
pub(super) const ENDING: &str = "room.jsonl";

/// What one check has said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoomLine {
    /// When it ended.
    pub at: Timestamp,
    /// Whose it was.
    pub name: String,
    /// Of which exercise.
    pub exercise: u8,
    /// Whether all was green.
    pub green: bool,
    /// The first thing that was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub red: Option<String>,
}

impl RoomLine {
    /// As it can be shown.
    pub(super) fn shown(mut self) -> RoomLine {
        self.name = name(&self.name);
        self.red = self.red.map(|red| of_others(&red, LONGEST_TEXT));
        self
    }
}

/// The whole lines of a file, and how many are damaged.
pub(super) fn read(bytes: &[u8]) -> (Vec<RoomLine>, usize) {
    let (mut lines, mut damaged) = (Vec::new(), 0);
    let text = String::from_utf8_lossy(bytes);
    for line in text.split('\n').filter(|line| !line.trim().is_empty()) {
        // What was never written is NUL; an editor may begin a file with a byte order mark.
        let line = line.trim_matches(|letter: char| {
            letter.is_whitespace() || matches!(letter, '\0' | '\u{feff}')
        });
        match serde_json::from_str(line) {
            Ok(line) => lines.push(line),
            Err(_) => damaged += 1,
        }
    }
    (lines, damaged)
}

/// The lines as a file holds them.
pub(super) fn written(lines: &[RoomLine]) -> anyhow::Result<String> {
    let mut text = String::new();
    for line in lines {
        text += &serde_json::to_string(line)?;
        text.push('\n');
    }
    Ok(text)
}

/// A name as a board can show it: on one line, composed, so that one name typed on two systems is one, and not too long.
pub(super) fn name(text: &str) -> String {
    let composed: String = text.nfc().collect();
    let shown = of_others(&composed, LONGEST_NAME);
    shown.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// True where there is something to see. These letters take room and show nothing.
pub(super) fn is_visible(name: &str) -> bool {
    let blank = [
        '\u{115f}', '\u{1160}', '\u{2800}', '\u{3164}', '\u{ffa0}', '\u{ad}',
    ];
    name.chars().any(|letter| {
        let is_seen = columns(letter.encode_utf8(&mut [0; 4])) > 0;
        is_seen && !letter.is_whitespace() && !blank.contains(&letter)
    })
}
