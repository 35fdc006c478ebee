//! A label printer's errors, for the page "One error type": what passes by itself, and what someone has to look at.

use std::io::{self, ErrorKind};

use thiserror::Error;

// ANCHOR: error
/// Why a label wasn't printed.
#[derive(Debug, Error)]
pub enum PrintError {
    #[error("there is no printer {0}")]
    NoPrinter(String),
    #[error("the printer is busy")]
    Busy(#[source] io::Error),
    #[error("the printer is broken")]
    Broken(#[source] io::Error),
}
// ANCHOR_END: error

// ANCHOR: from
impl From<io::Error> for PrintError {
    fn from(error: io::Error) -> PrintError {
        match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => PrintError::Busy(error),
            _ => PrintError::Broken(error),
        }
    }
}
// ANCHOR_END: from
