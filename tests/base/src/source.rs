//! What can be seen of a crate without compiling it, as the program `workshop-source` finds it and a check judges it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The words for a state of a booking in exercise 9, in both spellings.
pub const STATE_WORDS: [&str; 5] = ["free", "held", "confirmed", "cancelled", "canceled"];

/// A line of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceLine {
    /// The file, below the crate's folder.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// What is on it.
    pub what: String,
}

impl fmt::Display for SourceLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SourceLine { file, line, what } = self;
        write!(f, "{file}:{line}: {what}")
    }
}

/// A state as a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StateText {
    /// Where it is.
    pub at: SourceLine,
    /// The `impl` around it, if there is one.
    pub home: Option<String>,
}

/// A file of the crate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceFile {
    /// The file, below the crate's folder.
    pub file: String,
    /// Whether it names a web framework.
    pub is_of_the_web: bool,
    /// How many unit tests it has.
    pub tests: usize,
    /// Where it reads the clock.
    pub clocks: Vec<SourceLine>,
}

/// Everything that is judged of a crate's source. Unit tests are left out, but for their number.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceFacts {
    /// The files.
    pub files: Vec<SourceFile>,
    /// How many modules there are.
    pub modules: usize,
    /// The variants of each enum.
    pub enums: Vec<Vec<String>>,
    /// The copies that have a comment on their line, or on the line before.
    pub explained_copies: Vec<SourceLine>,
    /// The copies that have none.
    pub bare_copies: Vec<SourceLine>,
    /// The states that are texts.
    pub state_texts: Vec<StateText>,
    /// The types of errors that say nothing about what went wrong.
    pub untyped_errors: Vec<SourceLine>,
    /// The locks that hold locks.
    pub nested_locks: Vec<SourceLine>,
}
