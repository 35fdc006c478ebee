//! What the compiler says, in lines of JSON: its words are passed on, its errors and what was made are kept.

use std::path::PathBuf;

use serde_json::Value;

use super::launch::{BuildError, CompilerError};

/// What came out of a build.
#[derive(Debug, Default)]
pub(super) struct CompilerOutput {
    pub(super) made: Vec<PathBuf>,
    pub(super) errors: Vec<CompilerError>,
    /// Whether its words are only kept.
    pub(super) is_quiet: bool,
}

impl CompilerOutput {
    /// A line of cargo's.
    pub(super) fn take(&mut self, line: &str) {
        // Build scripts may print anything; only cargo's own lines are of interest.
        let Ok(line) = serde_json::from_str::<Value>(line) else {
            return;
        };
        if line["reason"] == "compiler-artifact" {
            // Of the crates that are built only the one that was asked for is a library for other languages.
            let is_library = texts(&line["target"]["kind"]).any(|kind| kind == "cdylib");
            let library = texts(&line["filenames"]).next().filter(|_| is_library);
            let artifact = line["executable"].as_str().or(library);
            self.made.extend(artifact.map(PathBuf::from));
        }
        self.take_message(&line["message"]);
    }

    /// A line of the compiler's own.
    pub(super) fn take_from_rustc(&mut self, line: &Value) {
        if line["emit"] == "link" {
            self.made
                .extend(line["artifact"].as_str().map(PathBuf::from));
        }
        if line["$message_type"] == "diagnostic" {
            self.take_message(line);
        }
    }

    fn take_message(&mut self, message: &Value) {
        let rendered = message["rendered"].as_str();
        if let Some(rendered) = rendered.filter(|_| !self.is_quiet) {
            eprint!("{rendered}");
        }
        let (level, said) = (text(&message["level"]), text(&message["message"]));
        // At the end it says how many there were.
        if level.starts_with("error") && !said.starts_with("aborting due to") {
            let error = in_short(message);
            if !self.errors.contains(&error) {
                self.errors.push(error);
            }
        }
    }

    /// What was made, unless there were errors.
    pub(super) fn into_made(self, label: &str) -> Result<Vec<PathBuf>, BuildError> {
        match self.errors.is_empty() {
            true => Ok(self.made),
            false => Err(BuildError::DoesNotCompile {
                label: label.to_owned(),
                errors: self.errors,
            }),
        }
    }
}

/// An error with its labels, its notes and its file.
fn in_short(diagnostic: &Value) -> CompilerError {
    let labels = items(&diagnostic["spans"]).filter_map(|span| span["label"].as_str());
    let notes = items(&diagnostic["children"]).map(|note| text(&note["message"]));
    let lines = std::iter::once(text(&diagnostic["message"]));
    let place = items(&diagnostic["spans"]).next();
    let place = place.map(|span| text(&span["file_name"]));
    let lines: Vec<&str> = lines.chain(labels).chain(notes).chain(place).collect();
    CompilerError {
        code: diagnostic["code"]["code"]
            .as_str()
            .unwrap_or("error")
            .to_owned(),
        said: lines.join("\n"),
    }
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

fn texts(list: &Value) -> impl Iterator<Item = &str> {
    items(list).filter_map(Value::as_str)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
