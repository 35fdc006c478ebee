//! What is new in a starter: how it differs from the reference that it grows from, hunk by hunk, each with a sentence that says why.
//! The sentences are in `what-is-new.toml` beside the reference.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::exercise::{Catalogue, Exercise};
use crate::files::{self, Tree};
use crate::originals::{self, STARTER_PATCH, WHAT_IS_NEW};
use crate::outcome::Trouble;
use crate::patches;
use crate::workspace::Workspace;

/// What is in a starter for the tool, and nothing to read for a learner.
const NOT_READ: &str = "exercise.toml";
/// Stands for each hunk of a file that no other line names.
const ANY: &str = "*";

/// `what-is-new.toml`: two questions for those who have read it, and the sentences.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sentences {
    questions: Vec<String>,
    /// By file, and by a line that the hunk adds or takes away.
    #[serde(default)]
    why: BTreeMap<PathBuf, BTreeMap<String, String>>,
}

/// What a learner is given with a starter, and how much that is.
#[derive(Debug)]
pub struct News {
    /// The exercise that the starter grows from.
    pub since: Option<u8>,
    /// The files that are new or have changed, by path.
    pub files: Vec<NewsOfFile>,
    /// Two questions for those who have read it.
    pub questions: Vec<String>,
    /// Lines of Rust that are given.
    pub given: usize,
    /// Lines of Rust that the learner types, as the reference has them.
    pub typed: usize,
    /// What is wrong with the sentences, one line each.
    pub faults: Vec<String>,
}

/// One file of a starter that is new or has changed.
#[derive(Debug)]
pub struct NewsOfFile {
    /// Its path in the exercise's folder.
    pub path: PathBuf,
    /// What is different.
    pub news: FileNews,
}

/// What is different in a file.
#[derive(Debug)]
pub enum FileNews {
    /// All of it: so many lines, and what they are for.
    Whole { lines: usize, why: String },
    /// Some of it.
    Hunks(Vec<NewHunk>),
}

/// A piece of a difference.
#[derive(Debug)]
pub struct NewHunk {
    /// Its lines, from `@@` on.
    pub text: String,
    /// Why it is there; empty where no one has written that.
    pub why: String,
}

impl News {
    /// Reads what is new in this exercise's starter, as the course ships it.
    pub fn of(
        workspace: &Workspace,
        catalogue: &Catalogue,
        exercise: &Exercise,
    ) -> anyhow::Result<News> {
        let since = exercise.grows_from.as_ref().map(|before| before.exercise);
        let before = match since {
            Some(number) => {
                let before = catalogue.get(number)?;
                let tree = originals::reference(workspace, before)?;
                originals::under_name(tree, &before.name(), &exercise.name())
            }
            None => Tree::new(),
        };
        let starter = originals::starter(workspace, exercise)?;
        let path = exercise.solution(workspace).join(WHAT_IS_NEW);
        let sentences = match files::read_if_there(&path)? {
            Some(bytes) => toml::from_str(&String::from_utf8_lossy(&bytes)).map_err(|error| {
                Trouble::new(format!("{} is malformed: {error}", path.display())).expected(
                    "questions, and a table [why.\"src/…\"] for each file that has changed",
                )
            })?,
            None => Sentences::default(),
        };
        let patch = exercise.solution(workspace).join(STARTER_PATCH);
        let typed = match patch.is_file() {
            true => lines_that_a_starter_lacks(&files::text(&patch)?),
            false => 0,
        };
        let mut news = compared(&before, &starter, &sentences);
        news.since = since;
        news.typed = typed;
        Ok(news)
    }

    /// How much it is, in one line.
    pub fn in_short(&self) -> String {
        let files = match self.files.len() {
            1 => "1 file".to_owned(),
            many => format!("{many} files"),
        };
        format!(
            "{} lines of Rust are given, in {files}; about {} are yours to type.",
            self.given, self.typed
        )
    }
}

/// What is new in `after`.
fn compared(before: &Tree, after: &Tree, sentences: &Sentences) -> News {
    let (mut told, mut faults, mut given) = (Vec::new(), Vec::new(), 0);
    let mut used: BTreeSet<(&Path, &str)> = BTreeSet::new();
    let differing = files::differing(before, after).into_iter();
    for path in differing.filter(|path| path != Path::new(NOT_READ) && after.contains_key(path)) {
        let text = |tree| patches::without_anchors(&patches::text(tree, &path));
        let (old, new) = (text(before), text(after));
        let known = sentences.why.get_key_value(&path);
        let mut why = |lines: &[&str]| {
            let (file, known) = known?;
            let line = lines.iter().find(|line| known.contains_key(**line));
            let (line, why) = known.get_key_value(*line.unwrap_or(&ANY))?;
            used.insert((file.as_path(), line.as_str()));
            Some(why.clone())
        };
        let news = if before.contains_key(&path) {
            let hunks = hunks(&old, &new).into_iter();
            let hunks = hunks.map(|text| {
                let changed = text.lines().skip(1);
                let changed: Vec<&str> = changed
                    .filter(|line| line.starts_with(['+', '-']))
                    .map(|line| line[1..].trim())
                    .collect();
                let why = why(&changed).unwrap_or_default();
                if why.is_empty() {
                    let first = changed.iter().find(|line| !line.is_empty());
                    faults.push(format!(
                        "{}: no line of {WHAT_IS_NEW} names the hunk with `{}`",
                        path.display(),
                        first.unwrap_or(&"")
                    ));
                }
                if is_code(&path) {
                    given += count(text.lines().filter_map(|line| line.strip_prefix('+')));
                }
                NewHunk { text, why }
            });
            FileNews::Hunks(hunks.collect())
        } else {
            if is_code(&path) {
                given += count(new.lines());
            }
            let why = why(&[]).unwrap_or_else(|| first_words(&new));
            if why.is_empty() {
                faults.push(format!(
                    "{}: neither its first line nor {WHAT_IS_NEW} says what it is for",
                    path.display()
                ));
            }
            let lines = new.lines().count();
            FileNews::Whole { lines, why }
        };
        told.push(NewsOfFile { path, news });
    }
    for (file, lines) in &sentences.why {
        let idle = lines
            .keys()
            .filter(|line| !used.contains(&(file.as_path(), line.as_str())));
        faults.extend(idle.map(|line| {
            format!(
                "{}: {WHAT_IS_NEW} names `{line}`, which no hunk has",
                file.display()
            )
        }));
    }
    News {
        since: None,
        files: told,
        questions: sentences.questions.clone(),
        given,
        typed: 0,
        faults,
    }
}

/// The hunks of a difference, each from its `@@` on.
fn hunks(before: &str, after: &str) -> Vec<String> {
    let difference = patches::difference(Default::default(), before, after);
    let mut hunks: Vec<String> = Vec::new();
    for line in difference.lines().skip(2) {
        if line.starts_with("@@") {
            hunks.push(String::new());
        }
        if let Some(hunk) = hunks.last_mut() {
            *hunk += line;
            hunk.push('\n');
        }
    }
    hunks
}

/// What a file says of itself: the comment that it begins with, in Rust or in a file that is configured by `#`.
fn first_words(text: &str) -> String {
    let comment = text.lines().map_while(|line| {
        let words = line.strip_prefix("//!").or_else(|| line.strip_prefix('#'));
        words.map(str::trim).filter(|words| !words.is_empty())
    });
    comment.collect::<Vec<_>>().join(" ")
}

/// The lines that a patch from a reference to its starter takes away, where they are code.
pub fn lines_that_a_starter_lacks(patch: &str) -> usize {
    let files = patch
        .split("\n--- ")
        .skip(usize::from(!patch.starts_with("--- ")));
    let code = files.filter(|file| {
        let name = file.trim_start_matches("--- ").lines().next();
        name.and_then(|name| name.strip_prefix("a/"))
            .is_some_and(|name| is_code(Path::new(name)))
    });
    code.map(|file| {
        count(
            file.lines()
                .skip(1)
                .filter_map(|line| line.strip_prefix('-')),
        )
    })
    .sum()
}

/// Whether a file is code of the service, and not a test.
pub fn is_code(path: &Path) -> bool {
    path.starts_with("src")
        && path.extension().is_some_and(|end| end == "rs")
        && !path.ends_with("tests.rs")
}

/// How many of them are neither blank nor a comment, up to the tests of a file. It counts as `tests/lines.sh` does.
pub fn count<'a>(lines: impl Iterator<Item = &'a str>) -> usize {
    let lines = lines
        .map(str::trim)
        .take_while(|line| *line != "mod tests {");
    let is_code = |line: &&str| {
        !line.is_empty()
            && !line.starts_with("//")
            && !["#[cfg(test)]", "mod tests;"].contains(line)
    };
    lines.filter(is_code).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> Tree {
        let file = |(path, text): &(&str, &str)| (PathBuf::from(path), text.as_bytes().to_vec());
        files.iter().map(file).collect()
    }

    fn told(sentences: &str) -> News {
        let lines = "fn same() {}\n".repeat(9);
        let before = tree(&[("src/a.rs", &format!("use a;\n{lines}fn old() {{}}\n"))]);
        let after = tree(&[
            ("exercise.toml", "number = 3\n"),
            ("src/a.rs", &format!("use b;\n{lines}fn new() {{}}\n")),
            ("src/b.rs", "//! Does b,\n//! and no more.\n\nfn b() {}\n"),
        ]);
        let sentences = format!("questions = []\n{sentences}");
        compared(&before, &after, &toml::from_str(&sentences).expect("TOML"))
    }

    #[test]
    fn each_hunk_has_its_sentence_and_a_new_file_its_first_comment() {
        let news = told(
            "[why.\"src/a.rs\"]\n\"use b;\" = \"For b.\"\n\"fn old() {}\" = \"It was old.\"\n",
        );
        assert_eq!(news.faults, Vec::<String>::new());
        assert_eq!(news.given, 3);
        let [a, b] = &news.files[..] else {
            panic!("{:?}", news.files)
        };
        let FileNews::Hunks(hunks) = &a.news else {
            panic!("{a:?}")
        };
        let whys: Vec<&str> = hunks.iter().map(|hunk| hunk.why.as_str()).collect();
        assert_eq!(whys, ["For b.", "It was old."]);
        assert!(hunks[1].text.starts_with("@@"), "{hunks:?}");
        assert!(hunks[1].text.ends_with("-fn old() {}\n+fn new() {}\n"));
        assert!(
            matches!(&b.news, FileNews::Whole { lines: 4, why } if why == "Does b, and no more.")
        );
    }

    #[test]
    fn a_hunk_without_a_sentence_and_a_sentence_without_a_hunk_are_faults() {
        let news =
            told("[why.\"src/a.rs\"]\n\"use b;\" = \"For b.\"\n\"gone\" = \"It was there.\"\n");
        assert_eq!(
            news.faults,
            [
                "src/a.rs: no line of what-is-new.toml names the hunk with `fn old() {}`",
                "src/a.rs: what-is-new.toml names `gone`, which no hunk has",
            ]
        );
        let all = told("[why.\"src/a.rs\"]\n\"*\" = \"All of it.\"\n");
        assert_eq!(all.faults, Vec::<String>::new());
    }

    #[test]
    fn every_starter_that_grows_says_what_is_new_and_why() -> anyhow::Result<()> {
        let workspace = Workspace::find()?;
        let catalogue = Catalogue::read(&workspace)?;
        for number in [2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 22] {
            let news = News::of(&workspace, &catalogue, catalogue.get(number)?)?;
            assert!(
                news.faults.is_empty(),
                "exercise {number}:\n{}",
                news.faults.join("\n")
            );
            assert_eq!(news.questions.len(), 2, "exercise {number}");
            assert!(news.given > 0 && news.typed > 0, "exercise {number}");
        }
        Ok(())
    }

    #[test]
    fn what_a_starter_lacks_is_typed() {
        let patch = "--- a/src/read.rs\n+++ b/src/read.rs\n@@ -1,4 +1,2 @@\n-/// A comment.\n-fn read() {\n-\n-}\n+todo!()\n same\n\
                     --- a/hints.md\n+++ b/hints.md\n-no code\n--- a/src/tests.rs\n+++ b/src/tests.rs\n-a test\n";
        assert_eq!(lines_that_a_starter_lacks(patch), 2);
    }
}
