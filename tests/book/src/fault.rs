//! What is wrong with a page: where, what, and what to do.

use std::fmt;
use std::path::{Path, PathBuf};

use workshop_base::outcome::Trouble;

/// Something that is wrong in the book, told with its place.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PageFault {
    /// The file, relative to the checkout's root.
    pub file: PathBuf,
    /// The line, from 1; 0 when the whole file is meant.
    pub line: usize,
    /// What is wrong, and what to do about it.
    pub what: String,
}

impl PageFault {
    /// A fault in this line of this file. What goes wrong below the book, such as a malformed `exercise.toml`, may not say what to do.
    pub fn new(file: impl AsRef<Path>, line: usize, error: impl Into<anyhow::Error>) -> Self {
        let error = error.into();
        let next = match error.downcast_ref::<Trouble>() {
            Some(_) => "",
            None => "\n  next: fix what the message names, then build the book again",
        };
        PageFault {
            file: file.as_ref().to_path_buf(),
            line,
            what: format!("{error:#}{next}"),
        }
    }
}

impl fmt::Display for PageFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if self.line > 0 {
            write!(f, ":{}", self.line)?;
        }
        write!(f, ": {}", self.what)
    }
}
