//! Code for the book, cut out of files that are built and tested: whole, or from `ANCHOR: name` to `ANCHOR_END: name`.

use std::path::{Component, Path, PathBuf};

use crate::fault::Problem;

/// A place in the checkout: a file, or an anchor in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The file, relative to the checkout's root.
    pub file: PathBuf,
    /// The anchor's name; the whole file without one.
    pub anchor: Option<String>,
}

impl Place {
    /// Reads `path/to/file.rs` or `path/to/file.rs:anchor`.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        let (file, anchor) = match text.split_once(':') {
            Some((file, anchor)) => (file, Some(anchor.to_owned())),
            None => (text, None),
        };
        let path = PathBuf::from(file);
        if file.is_empty()
            || !path
                .components()
                .all(|component| matches!(component, Component::Normal(_)))
        {
            return Err(Problem::new(
                format!("{file:?} is no path inside the checkout"),
                "write the path from the checkout's root, without .. and without a leading slash",
            ));
        }
        if belongs_to_learner(&path) {
            return Err(Problem::new(
                format!(
                    "{file} belongs to the learner, whose edits would change or break this page"
                ),
                format!(
                    "include the reference instead: {}",
                    file.replacen("exercises/", "solutions/", 1)
                ),
            ));
        }
        Ok(Place { file: path, anchor })
    }

    /// The code at this place, without anchor comments and without the indentation that all its lines share.
    pub fn read(&self, root: &Path) -> Result<String, Problem> {
        let file = self.file.display();
        let text = std::fs::read_to_string(root.join(&self.file)).map_err(|error| {
            Problem::new(
                format!("cannot include {file}: {error}"),
                "correct the path, which starts at the checkout's root",
            )
        })?;
        let lines = match &self.anchor {
            None => text.lines().collect(),
            Some(anchor) => anchored(&text, anchor).map_err(|what| {
                let names = anchor_names(&text);
                let there = if names.is_empty() {
                    "it has no anchors".to_owned()
                } else {
                    format!("it has: {}", names.join(", "))
                };
                Problem::new(
                    format!("{file}: {what}"),
                    format!("name an anchor of the file ({there})"),
                )
            })?,
        };
        let code = tidy(lines.into_iter().filter(|line| marker(line).is_none()));
        if code.is_empty() {
            let what = match &self.anchor {
                Some(anchor) => format!("the anchor {anchor} of {file} is empty"),
                None => format!("{file} is empty"),
            };
            return Err(Problem::new(
                what,
                "put the code between the two anchor comments, or name another anchor",
            ));
        }
        Ok(code)
    }
}

/// True below `exercises/NN-…`: files that change under the learner's hand.
fn belongs_to_learner(path: &Path) -> bool {
    let mut components = path
        .components()
        .filter_map(|component| component.as_os_str().to_str());
    components.next() == Some("exercises")
        && components
            .next()
            .is_some_and(|folder| folder.starts_with(|first: char| first.is_ascii_digit()))
}

/// An anchor comment.
#[derive(Debug, PartialEq, Eq)]
enum Marker<'a> {
    Start(&'a str),
    End(&'a str),
}

/// The anchor comment in this line.
fn marker(line: &str) -> Option<Marker<'_>> {
    if let Some((_, rest)) = line.split_once("ANCHOR_END:") {
        return first_word(rest).map(Marker::End);
    }
    line.split_once("ANCHOR:")
        .and_then(|(_, rest)| first_word(rest))
        .map(Marker::Start)
}

/// The name that the text starts with.
fn first_word(text: &str) -> Option<&str> {
    let text = text.trim_start();
    let end = text
        .find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-'))
        .unwrap_or(text.len());
    (end > 0).then(|| &text[..end])
}

/// The lines between the anchor's two comments.
fn anchored<'a>(text: &'a str, anchor: &str) -> Result<Vec<&'a str>, String> {
    let mut inside = false;
    let mut closed = false;
    let mut lines = Vec::new();
    for line in text.lines() {
        match marker(line) {
            Some(Marker::Start(name)) if name == anchor => {
                if inside || closed {
                    return Err(format!("the anchor {anchor} starts twice"));
                }
                inside = true;
            }
            Some(Marker::End(name)) if name == anchor => {
                if !inside {
                    return Err(format!("the anchor {anchor} ends before it starts"));
                }
                inside = false;
                closed = true;
            }
            _ if inside => lines.push(line),
            _ => {}
        }
    }
    if inside {
        return Err(format!("the anchor {anchor} has no ANCHOR_END"));
    }
    if !closed {
        return Err(format!("there is no anchor {anchor}"));
    }
    Ok(lines)
}

/// The names of all anchors that start in the text.
fn anchor_names(text: &str) -> Vec<&str> {
    text.lines()
        .filter_map(|line| match marker(line) {
            Some(Marker::Start(name)) => Some(name),
            _ => None,
        })
        .collect()
}

/// The lines as text: no empty lines around, no indentation that all share.
fn tidy<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let lines: Vec<&str> = lines.map(str::trim_end).collect();
    let first = lines
        .iter()
        .position(|line| !line.is_empty())
        .unwrap_or(lines.len());
    let last = lines
        .iter()
        .rposition(|line| !line.is_empty())
        .map_or(first, |last| last + 1);
    let lines = &lines[first..last];
    let indent = |line: &&str| line.len() - line.trim_start_matches([' ', '\t']).len();
    let shared = lines
        .iter()
        .filter(|line| !line.is_empty())
        .map(indent)
        .min()
        .unwrap_or(0);
    lines
        .iter()
        .map(|line| line.get(shared..).unwrap_or_default())
        .collect::<Vec<_>>()
        .join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &str = "use a;\n\n    // ANCHOR: outer\n    fn outer() {\n        // ANCHOR: inner\n        inner();\n\n        // ANCHOR_END: inner\n    }\n    // ANCHOR_END: outer\n// ANCHOR: empty\n// ANCHOR_END: empty\n// ANCHOR: open\n";

    fn read(anchor: &str) -> Result<String, Problem> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::write(folder.path().join("a.rs"), CODE).expect("written");
        Place::parse(&format!("a.rs{anchor}"))?.read(folder.path())
    }

    #[test]
    fn an_anchor_gives_its_lines_without_shared_indentation_and_without_nested_anchors() {
        assert_eq!(
            read(":outer").as_deref(),
            Ok("fn outer() {\n    inner();\n\n}")
        );
        assert_eq!(read(":inner").as_deref(), Ok("inner();"));
    }

    #[test]
    fn without_an_anchor_the_whole_file_comes_without_its_anchor_comments() {
        let code = read("").expect("the file");
        assert!(code.starts_with("use a;"), "{code}");
        assert!(!code.contains("ANCHOR"), "{code}");
    }

    #[test]
    fn a_missing_anchor_names_those_that_are_there() {
        let problem = read(":read").expect_err("there is none");
        assert!(
            problem.what.contains("there is no anchor read"),
            "{problem:?}"
        );
        assert!(
            problem.next.contains("outer, inner, empty, open"),
            "{problem:?}"
        );
    }

    #[test]
    fn an_empty_or_open_anchor_is_refused() {
        assert!(read(":empty").expect_err("empty").what.contains("is empty"));
        assert!(
            read(":open")
                .expect_err("open")
                .what
                .contains("has no ANCHOR_END")
        );
    }

    #[test]
    fn a_missing_file_is_refused() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let problem = Place::parse("b.rs")
            .and_then(|place| place.read(folder.path()))
            .expect_err("missing");
        assert!(problem.what.contains("cannot include b.rs"), "{problem:?}");
    }

    #[test]
    fn only_paths_inside_the_checkout_are_taken() {
        for path in ["/etc/passwd", "../secret.rs", "a/../../b.rs", "", ":anchor"] {
            assert!(Place::parse(path).is_err(), "{path}");
        }
    }

    #[test]
    fn the_learners_files_are_refused_in_favour_of_the_reference() {
        let problem =
            Place::parse("exercises/03-read-a-record/src/read.rs:read").expect_err("the learner's");
        assert!(
            problem
                .next
                .contains("solutions/03-read-a-record/src/read.rs"),
            "{problem:?}"
        );
        assert!(Place::parse("exercises/kotlin-service/openapi.yaml").is_ok());
    }
}
