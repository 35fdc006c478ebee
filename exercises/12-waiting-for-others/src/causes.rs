//! Formats errors, with their causes, for the log.

use std::{error::Error, iter};

// ANCHOR: with-causes
/// The error and its causes, on one line.
pub fn with_causes(error: &dyn Error) -> String {
    let mut line = error.to_string();
    for cause in iter::successors(error.source(), |&cause| cause.source()) {
        let cause = cause.to_string();
        // The messages of many sqlx errors already end with the message of their cause.
        if !line.ends_with(&cause) {
            line = format!("{line}: {cause}");
        }
    }
    line
}
// ANCHOR_END: with-causes
