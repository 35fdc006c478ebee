//! What is wrong with a page: where, what, and what to do.

use std::fmt;
use std::path::{Path, PathBuf};

use workshop_base::outcome::Trouble;

/// Something that is wrong in the book, told with its place.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fault {
    /// The file, relative to the checkout's root.
    pub file: PathBuf,
    /// The line, from 1; 0 when the whole file is meant.
    pub line: usize,
    /// What is wrong.
    pub what: String,
    /// What to do about it; empty when the first text says it already.
    pub next: String,
}

impl Fault {
    /// A fault in this line of this file.
    pub fn new(file: impl AsRef<Path>, line: usize, problem: Problem) -> Self {
        Fault {
            file: file.as_ref().to_path_buf(),
            line,
            what: problem.what,
            next: problem.next,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        write!(f, ": {}", self.what)?;
        if !self.next.is_empty() {
            write!(f, "\n  next: {}", self.next)?;
        }
        Ok(())
    }
}

/// A fault whose place is not known yet: what is wrong and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// What is wrong.
    pub what: String,
    /// What to do about it.
    pub next: String,
}

impl Problem {
    /// A problem and its remedy.
    pub fn new(what: impl Into<String>, next: impl Into<String>) -> Self {
        Problem {
            what: what.into(),
            next: next.into(),
        }
    }
}

impl From<anyhow::Error> for Problem {
    /// For what goes wrong below the book, such as a malformed `exercise.toml`: the error already says what to do.
    fn from(error: anyhow::Error) -> Self {
        let next = match error.downcast_ref::<Trouble>() {
            Some(_) => "",
            None => "fix what the message names, then build the book again",
        };
        Problem::new(format!("{error:#}"), next)
    }
}
