//! Code for the book, cut out of files that are built and tested: whole, or from `ANCHOR: name` to `ANCHOR_END: name`.

use std::path::{Component, Path, PathBuf};
use workshop_base::outcome::Trouble;

/// A place in the checkout: a file, or an anchor in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt {
    /// The file, relative to the checkout's root.
    pub file: PathBuf,
    /// The anchor's name; the whole file without one.
    pub anchor: Option<String>,
}

impl Excerpt {
    /// Reads `path/to/file.rs` or `path/to/file.rs:anchor`.
    pub fn parse(text: &str) -> anyhow::Result<Self> {
        let (file, anchor) = match text.split_once(':') {
            Some((file, anchor)) => (file, Some(anchor.to_owned())),
            None => (text, None),
        };
        let path = PathBuf::from(file);
        let is_normal = |component| matches!(component, Component::Normal(_));
        if file.is_empty() || !path.components().all(is_normal) {
            let next =
                "write the path from the checkout's root, without .. and without a leading slash";
            return Trouble::new(format!("{file:?} isn't a path inside the checkout"))
                .next(next)
                .err();
        }
        if belongs_to_learner(file) {
            let reference = file.replacen("exercises/", "solutions/", 1);
            return Trouble::new(format!(
                "{file} belongs to the learner, whose edits would change or break this page"
            ))
            .next(format!("include the reference instead: {reference}"))
            .err();
        }
        Ok(Excerpt { file: path, anchor })
    }

    /// The code at this place, without anchor comments and without the indentation that all its lines share.
    pub fn read(&self, root: &Path) -> anyhow::Result<String> {
        let file = self.file.display();
        let text = std::fs::read_to_string(root.join(&self.file)).map_err(|error| {
            Trouble::new(format!("cannot include {file}: {error}"))
                .next("correct the path, which starts at the checkout's root")
        })?;
        let mut lines: Vec<&str> = text.lines().collect();
        if let Some(anchor) = &self.anchor {
            lines = anchored(&lines, anchor).map_err(|what| {
                let starts = lines.iter().filter_map(|line| marker(line));
                let names = starts.filter(|(_, ends)| !ends).map(|(name, _)| name);
                let there = names.collect::<Vec<_>>().join(", ");
                Trouble::new(format!("{file}: {what}"))
                    .next(format!("name an anchor of the file (it has: {there})"))
            })?;
        }
        lines.retain(|line| marker(line).is_none());
        let code = tidy(&lines);
        if !code.is_empty() {
            return Ok(code);
        }
        let what = match &self.anchor {
            Some(anchor) => format!("the anchor {anchor} of {file} is empty"),
            None => format!("{file} is empty"),
        };
        Trouble::new(what)
            .next("put the code between the two anchor comments, or name another anchor")
            .err()
    }
}

/// True below `exercises/NN-…`: files that change under the learner's hand.
fn belongs_to_learner(path: &str) -> bool {
    let folder = path.strip_prefix("exercises/");
    folder.is_some_and(|folder| folder.starts_with(|first: char| first.is_ascii_digit()))
}

/// The anchor comment in this line: its name, and whether it ends the anchor.
fn marker(line: &str) -> Option<(&str, bool)> {
    let ends = line.contains("ANCHOR_END:");
    let (_, rest) = line.split_once(if ends { "ANCHOR_END:" } else { "ANCHOR:" })?;
    let is_of_name = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    let name = rest.trim_start().split(|c| !is_of_name(c)).next()?;
    (!name.is_empty()).then_some((name, ends))
}

/// The lines between the anchor's two comments.
fn anchored<'a>(lines: &[&'a str], anchor: &str) -> Result<Vec<&'a str>, String> {
    let places = |wanted| {
        let places = lines.iter().enumerate();
        let places = places.filter(move |(_, line)| marker(line) == Some((anchor, wanted)));
        places.map(|(place, _)| place).collect::<Vec<usize>>()
    };
    match (places(false).as_slice(), places(true).as_slice()) {
        ([start], [end]) if start < end => Ok(lines[start + 1..*end].to_vec()),
        ([_], []) => Err(format!("the anchor {anchor} has no ANCHOR_END")),
        ([], []) => Err(format!("there is no anchor {anchor}")),
        _ => Err(format!(
            "the anchor {anchor} does not start once and then end once"
        )),
    }
}

/// The lines as text: no empty lines around, no indentation that all share.
fn tidy(lines: &[&str]) -> String {
    let written = lines.iter().filter(|line| !line.trim().is_empty());
    let indent = |line: &&str| line.len() - line.trim_start_matches([' ', '\t']).len();
    let shared = written.map(indent).min().unwrap_or(0);
    let lines = lines
        .iter()
        .map(|line| line.get(shared..).unwrap_or_default().trim_end());
    lines
        .collect::<Vec<_>>()
        .join("\n")
        .trim_matches('\n')
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &str = "use a;\n\n    // ANCHOR: outer\n    fn outer() {\n        // ANCHOR: inner\n        inner();\n\n        // ANCHOR_END: inner\n    }\n    // ANCHOR_END: outer\n// ANCHOR: empty\n// ANCHOR_END: empty\n// ANCHOR: open\n";

    fn read(anchor: &str) -> anyhow::Result<String> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::write(folder.path().join("a.rs"), CODE).expect("written");
        Excerpt::parse(&format!("a.rs{anchor}"))?.read(folder.path())
    }

    #[test]
    fn an_anchor_gives_its_lines_without_shared_indentation_and_without_nested_anchors() {
        let code = |anchor| read(anchor).expect("code");
        assert_eq!(code(":outer"), "fn outer() {\n    inner();\n\n}");
        assert_eq!(code(":inner"), "inner();");
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
            problem.to_string().contains("there is no anchor read"),
            "{problem:?}"
        );
        assert!(
            problem.to_string().contains("outer, inner, empty, open"),
            "{problem:?}"
        );
    }

    #[test]
    fn an_empty_or_open_anchor_is_refused() {
        assert!(
            read(":empty")
                .expect_err("empty")
                .to_string()
                .contains("is empty")
        );
        assert!(
            read(":open")
                .expect_err("open")
                .to_string()
                .contains("has no ANCHOR_END")
        );
    }

    #[test]
    fn a_missing_file_is_refused() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let problem = Excerpt::parse("b.rs")
            .and_then(|place| place.read(folder.path()))
            .expect_err("missing");
        assert!(
            problem.to_string().contains("cannot include b.rs"),
            "{problem:?}"
        );
    }

    #[test]
    fn only_paths_inside_the_checkout_are_taken() {
        for path in ["/etc/passwd", "../secret.rs", "a/../../b.rs", "", ":anchor"] {
            assert!(Excerpt::parse(path).is_err(), "{path}");
        }
    }

    #[test]
    fn the_learners_files_are_refused_in_favour_of_the_reference() {
        let problem = Excerpt::parse("exercises/03-read-a-record/src/read.rs:read")
            .expect_err("the learner's");
        assert!(
            problem
                .to_string()
                .contains("solutions/03-read-a-record/src/read.rs"),
            "{problem:?}"
        );
        assert!(Excerpt::parse("exercises/kotlin-service/openapi.yaml").is_ok());
    }
}
