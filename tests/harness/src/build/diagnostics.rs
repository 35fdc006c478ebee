//! What the compiler says, in lines of JSON: its words are passed on, its errors and what was made are kept.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde_json::Value;

use super::launch::{BuildError, CompilerError};
use workshop_base::files;
use workshop_base::outcome::Trouble;
use workshop_base::workspace::Workspace;

/// What came out of a build.
#[derive(Debug, Default)]
pub(super) struct CompilerOutput {
    pub(super) made: Vec<PathBuf>,
    pub(super) errors: Vec<CompilerError>,
    /// What the paths of the sources begin at.
    pub(super) folder: PathBuf,
    /// The checkout that the reader is in.
    pub(super) workspace: Option<Workspace>,
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
            eprint!("{}", self.as_reader_sees(rendered, message));
        }
        let (level, said) = (text(&message["level"]), text(&message["message"]));
        // At the end it says how many there were.
        if level.starts_with("error") && !said.starts_with("aborting due to") {
            let error = self.in_short(message);
            if !self.errors.contains(&error) {
                self.errors.push(error);
            }
        }
    }

    /// The compiler's words, with the places of the checkout as the reader's editor opens them.
    fn as_reader_sees(&self, rendered: &str, message: &Value) -> String {
        let mut words = rendered.to_owned();
        let Some(workspace) = &self.workspace else {
            return words;
        };
        let children = items(&message["children"]).flat_map(|child| items(&child["spans"]));
        let spans = items(&message["spans"]).chain(children);
        let files: BTreeSet<&str> = spans.map(|span| text(&span["file_name"])).collect();
        for file in files {
            let shown = files::shown(workspace, &self.folder.join(file));
            // Before a path is a space, or the end of the code of a color.
            for before in [" ", "\u{1b}[0m"] {
                words = words.replace(&format!("{before}{file}:"), &format!("{before}{shown}:"));
            }
        }
        words
    }

    /// True where cargo has failed before it compiled anything.
    pub(super) fn is_nothing(&self) -> bool {
        self.errors.is_empty() && self.made.is_empty()
    }

    /// What was made, unless there were errors: those of the code, or one of the machine, which says nothing about the code.
    pub(super) fn into_made(self, label: &str) -> Result<Vec<PathBuf>, BuildError> {
        let mut errors = self.errors.iter();
        if let Some(trouble) = errors.find_map(|error| of_the_machine(label, &error.said)) {
            return Err(BuildError::CouldNotBuild(trouble.into()));
        }
        match self.errors.is_empty() {
            true => Ok(self.made),
            false => Err(BuildError::DoesNotCompile {
                label: label.to_owned(),
                errors: self.errors,
            }),
        }
    }

    /// An error with its labels, its notes, its place and its line.
    fn in_short(&self, diagnostic: &Value) -> CompilerError {
        let spans = || items(&diagnostic["spans"]);
        let labels = spans().filter_map(|span| span["label"].as_str());
        let notes = items(&diagnostic["children"]).map(|note| text(&note["message"]));
        let message = std::iter::once(text(&diagnostic["message"]));
        let at_fault = spans().find(|span| span["is_primary"] == true);
        let place = at_fault.map(|span| self.place(span)).unwrap_or_default();
        let source = at_fault.into_iter().flat_map(|span| items(&span["text"]));
        let source = source.map(|line| text(&line["text"]).trim());
        let lines = message.chain(labels).chain(notes);
        let by_name = at_fault.filter(|span| is_argument_by_name(span));
        let by_name = by_name.map(|_| ARGUMENT_BY_NAME);
        let lines = lines.chain([place.as_str()]).chain(source).chain(by_name);
        let lines: Vec<&str> = lines.collect();
        let code = diagnostic["code"]["code"].as_str().unwrap_or("error");
        CompilerError {
            code: code.to_owned(),
            said: lines.join("\n"),
            place,
        }
    }

    /// The file of a span, and the function that its line is in.
    fn place(&self, span: &Value) -> String {
        let file = text(&span["file_name"]);
        let line = span["line_start"].as_u64().unwrap_or_default();
        let source = std::fs::read_to_string(self.folder.join(file)).unwrap_or_default();
        let before = source
            .lines()
            .take(usize::try_from(line).unwrap_or_default());
        match before.filter_map(function).last() {
            Some(function) => format!("{file}, fn {function}"),
            None => file.to_owned(),
        }
    }
}

/// What the machine ran out of while it compiled or linked, if it did.
fn of_the_machine(label: &str, said: &str) -> Option<Trouble> {
    let says = |words: &[&str]| words.iter().any(|word| said.contains(word));
    if says(&["No space left on device", "Disk quota exceeded"]) {
        let full = Trouble::new(format!("the disk is full, so {label} was not built"));
        return Some(
            full.expected("room for what cargo makes: some gigabytes for the whole course")
                .next("df -h; just clean; CARGO_TARGET_DIR names a folder on another disk"),
        );
    }
    let killed = ["signal 9", "signal: 9", "signal 7", "signal: 7", "[Killed]"];
    let exhausted = [
        "out of memory",
        "memory exhausted",
        "Cannot allocate memory",
    ];
    if says(&killed) || says(&exhausted) {
        let none = Trouble::new(format!("there was no memory left to build {label}"));
        return Some(
            none.expected("a compiler and a linker that end by themselves; the system has killed one of them")
                .next("close what takes memory (an editor's rust-analyzer does), or CARGO_BUILD_JOBS=1 and the same command again"),
        );
    }
    None
}

/// The errors among the lines of JSON that rustc itself has written.
pub fn errors_of_rustc(lines: &str) -> Vec<CompilerError> {
    let mut output = CompilerOutput {
        is_quiet: true,
        ..CompilerOutput::default()
    };
    for line in lines
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
    {
        output.take_from_rustc(&line);
    }
    output.errors
}

/// What is added to an error at `f(name = value)`: the compiler takes it for an assignment, and only says that there's no such variable.
const ARGUMENT_BY_NAME: &str = "an argument by its name";

/// True where the name at fault comes after a parenthesis or a comma, and before a single `=`. If there's a variable of that name, all of the
/// assignment is at fault.
fn is_argument_by_name(span: &Value) -> bool {
    let line: Vec<char> = text(&span["text"][0]["text"]).chars().collect();
    let column = |name: &str| {
        let column = span["text"][0][name].as_u64()?;
        usize::try_from(column).ok()?.checked_sub(1)
    };
    let (Some(start), Some(end)) = (column("highlight_start"), column("highlight_end")) else {
        return false;
    };
    let before = line.iter().take(start).rev().find(|char| **char != ' ');
    let name = line
        .iter()
        .skip(start)
        .take_while(|char| is_of_a_name(**char));
    let end = end.min(start + name.count());
    let mut after = line.iter().skip(end).skip_while(|char| **char == ' ');
    matches!(before, Some('(' | ',')) && after.next() == Some(&'=') && after.next() != Some(&'=')
}

fn is_of_a_name(char: char) -> bool {
    char.is_alphanumeric() || char == '_'
}

/// The name of the function that begins in this line.
fn function(line: &str) -> Option<&str> {
    let (before, after) = line.split_once("fn ")?;
    let is_code = before
        .chars()
        .all(|char| char.is_alphanumeric() || " ()_:".contains(char));
    let end = after.find(|char: char| !char.is_alphanumeric() && char != '_')?;
    (is_code && end > 0).then(|| &after[..end])
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_argument_by_its_name_is_told_from_a_comparison() {
        let is = |line: &str, name: &str| {
            let start = line.find(name).unwrap_or_default() + 1;
            let text = serde_json::json!([{
                "text": line, "highlight_start": start, "highlight_end": start + name.len(),
            }]);
            is_argument_by_name(&serde_json::json!({ "text": text }))
        };
        assert!(is("connect(host, port = 1)", "port"));
        assert!(is("start(settings = settings)", "settings = settings"));
        assert!(!is("assert!(port == 1)", "port"));
        assert!(!is("port = 1;", "port"));
    }

    #[test]
    fn a_machine_that_runs_out_of_something_is_no_fault_of_the_code() {
        let built = |said: &str| {
            let errors = vec![CompilerError {
                code: "error".to_owned(),
                said: said.to_owned(),
                place: String::new(),
            }];
            let output = CompilerOutput {
                errors,
                ..CompilerOutput::default()
            };
            output.into_made("exercise-2")
        };
        for (said, what) in [
            (
                "linking with `cc` failed: exit status: 1\ncollect2: fatal error: ld terminated with signal 9 [Killed]",
                "there was no memory left",
            ),
            (
                "failed to write /target/a.o: No space left on device (os error 28)",
                "the disk is full",
            ),
        ] {
            let error = built(said).expect_err(said);
            assert!(matches!(error, BuildError::CouldNotBuild(_)), "{error:?}");
            assert!(error.to_string().contains(what), "{error}");
            assert!(error.to_string().contains("next:"), "{error}");
        }
        let undefined = built("linking with `cc` failed: undefined reference to `main`");
        assert!(matches!(undefined, Err(BuildError::DoesNotCompile { .. })));
    }

    #[test]
    fn a_function_is_found_by_the_line_that_begins_it() {
        let names = [
            "    pub async fn of(&self, id: i32)",
            "fn main() {",
            "// a fn of",
        ]
        .map(function);
        assert_eq!(names, [Some("of"), Some("main"), None]);
        assert_eq!(function("    let f: fn(i32) = g;"), None);
        assert_eq!(function("pub(crate) const fn new() -> Self {"), Some("new"));
    }
}
