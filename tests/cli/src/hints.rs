//! The hints of an exercise: `hints.md`, one section per failure, three levels each. `exercises/hints.md` has those that fit
//! every exercise.
//!
//! A heading lists the failures that its section is for, separated by commas: a test's name, a compiler's code (`E0277`,
//! `error` where there is none, `kotlin`), [`DOES_NOT_COMPILE`] or [`state::DOES_NOT_START`](crate::state::DOES_NOT_START). `E0277: Executor` is only for an E0277
//! whose words contain "Executor", and goes before `E0277`, also before the exercise's own; the same holds for tests, with the
//! words of the failure.

use std::collections::BTreeSet;
use std::path::Path;

use crate::state::{CheckOutcome, Fault, LastCheck};

use workshop_base::{exercise::Exercise, outcome::Trouble, workspace::Workspace};

/// The number of levels of every section.
pub const LEVELS: usize = 3;

/// The key for compiler errors that have no section of their own.
pub const DOES_NOT_COMPILE: &str = "does not compile";

/// The key of the last section, for all that has none of its own.
pub const ANYTHING_ELSE: &str = "anything else";

/// One section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// The heading as written: its keys, separated by commas.
    pub heading: String,
    /// The levels, first to last, as Markdown without the list's numbers and indentation.
    pub levels: Vec<String>,
}

impl Section {
    /// True where it is for named failures, not for what has no section.
    pub fn is_own(&self) -> bool {
        ![DOES_NOT_COMPILE, ANYTHING_ELSE].contains(&self.heading.as_str())
    }

    /// True where one of the first two levels has these words; lines may break anywhere.
    pub fn says(&self, words: &str) -> bool {
        let mut levels = self.levels.iter().take(2);
        levels.any(|level| {
            let level: Vec<&str> = level.split_whitespace().collect();
            level.join(" ").contains(words)
        })
    }

    /// The failures that the section is for.
    fn keys(&self) -> impl Iterator<Item = &str> {
        self.heading.split(',').map(str::trim)
    }

    fn is_for(&self, name: &str) -> bool {
        self.keys().any(|key| key.trim_matches('`') == name)
    }

    /// True where a key names the failure and some of its words.
    fn fits(&self, fault: &Fault) -> bool {
        self.keys()
            .filter_map(|key| key.split_once(": "))
            .any(|(name, words)| name == fault.name && fault.said.contains(words))
    }
}

/// A parsed `hints.md`; the last section is the one for anything else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hints {
    sections: Vec<Section>,
}

/// The hints of an exercise, and after them those that fit every exercise.
pub fn of(workspace: &Workspace, exercise: &Exercise) -> anyhow::Result<Vec<Hints>> {
    let mut files = vec![read(&exercise.starter(workspace).join("hints.md"))?];
    let common = workspace.exercises().join("hints.md");
    if common.exists() {
        files.push(read(&common)?);
    }
    Ok(files)
}

/// What went wrong first, and the section for it. Of several failures the first that has a section of its own counts: one
/// mistake often draws others behind it. None where nothing is wrong.
pub fn choose<'a>(files: &'a [Hints], check: &'a LastCheck) -> Option<(&'a Fault, &'a Section)> {
    let sections = || files.iter().flat_map(|hints| &hints.sections);
    let own = |fault: &'a Fault| {
        let fitting = sections().find(|section| section.fits(fault));
        let named = || sections().find(|section| section.is_for(&fault.name));
        Some((fault, fitting.or_else(named)?))
    };
    let first = check.faults.first()?;
    let general = match check.outcome {
        CheckOutcome::DoesNotCompile => DOES_NOT_COMPILE,
        _ => ANYTHING_ELSE,
    };
    check.faults.iter().find_map(own).or_else(|| {
        let section = sections().find(|section| section.is_for(general));
        Some((
            first,
            section.or_else(|| sections().find(|section| section.is_for(ANYTHING_ELSE)))?,
        ))
    })
}

fn read(path: &Path) -> anyhow::Result<Hints> {
    let parsed = std::fs::read_to_string(path)
        .map_err(|error| format!(" cannot be read ({error})"))
        .and_then(|text| {
            Hints::parse(&text).map_err(|(line, fault)| format!(", line {line}: {fault}"))
        });
    parsed.map_err(|fault| {
        let path = path.display();
        Trouble::new(format!("{path}{fault}"))
            .expected(format!(
                "sections `## <test or compiler code>` with the items 1. to {LEVELS}., and a last one `## {ANYTHING_ELSE}`"
            ))
            .next(format!("git restore {path}"))
            .into()
    })
}

impl Hints {
    /// Parses the text of a `hints.md`; an error has the number of the line at fault.
    pub fn parse(text: &str) -> Result<Self, (usize, String)> {
        let mut sections: Vec<(usize, Section)> = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let fault = |fault: &str| Err((number, fault.to_owned()));
            let blank = line.trim().is_empty();
            if let Some(heading) = line.strip_prefix("## ") {
                let heading = heading.trim().to_owned();
                let levels = Vec::new();
                sections.push((number, Section { heading, levels }));
                continue;
            }
            let Some((_, section)) = sections.last_mut() else {
                if blank || line.starts_with("# ") {
                    continue;
                }
                return fault("text before the first section");
            };
            let next = section.levels.len() + 1;
            if let Some((item, text)) = numbered(line) {
                if item != next {
                    return fault(&format!("item {item} where {next} comes next"));
                }
                section.levels.push(text.to_owned());
            } else if let Some(level) = section.levels.last_mut() {
                if !blank && !line.starts_with(' ') {
                    return fault("text that belongs to no item; indent it by three spaces");
                }
                level.push('\n');
                level.push_str(unindented(line));
            } else if !blank {
                return fault("text before the item 1.");
            }
        }
        let mut seen = BTreeSet::new();
        for (line, section) in &mut sections {
            let fault = |fault: String| Err((*line, format!("{:?} {fault}", section.heading)));
            if section.levels.len() != LEVELS {
                return fault(format!("has {} items, not {LEVELS}", section.levels.len()));
            }
            if !section
                .keys()
                .all(|key| !key.is_empty() && seen.insert(key.to_owned()))
            {
                return fault("has no key, or one that was there before".to_owned());
            }
            for level in &mut section.levels {
                *level = level.trim().to_owned();
            }
        }
        let sections: Vec<Section> = sections.into_iter().map(|(_, section)| section).collect();
        match sections.last() {
            Some(last) if last.heading == ANYTHING_ELSE => Ok(Hints { sections }),
            _ => {
                let fault = format!("the last section is not {ANYTHING_ELSE:?}");
                Err((text.lines().count(), fault))
            }
        }
    }

    /// Those of the tests that have no section of their own.
    pub fn missing(&self, tests: &[String]) -> Vec<String> {
        let mut missing = tests.to_vec();
        missing.retain(|test| !self.sections.iter().any(|section| section.is_for(test)));
        missing
    }
}

/// The number and the text of a line that begins an item.
fn numbered(line: &str) -> Option<(usize, &str)> {
    let (number, text) = line.split_once('.')?;
    let number = number.parse().ok()?;
    (text.is_empty() || text.starts_with(' ')).then(|| (number, text.trim_start()))
}

/// The line without the indentation of a list item, which is the width of `1. `.
fn unindented(line: &str) -> &str {
    let spaces = line.len() - line.trim_start_matches(' ').len();
    &line[spaces.min(3)..]
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# Hints

## test_a, `test_b`

1. Look here.
2. Use this:

   ```rust
   fn main() {
       1. // looks like an item
   }
   ```

   And a second paragraph.
3. Nearly the line.

## E0277
1. one
2. two
3. three

## E0277: Executor
1. one
2. two
3. three

## does not compile
1. one
2. two
3. three

## anything else
1. first
2. second
3. third
";

    fn heading(errors: &[(&str, &str)]) -> Result<String, (usize, String)> {
        let faults = errors.iter().map(|(name, said)| Fault::new(*name, *said));
        let check = LastCheck::now(CheckOutcome::DoesNotCompile, faults.collect());
        let common = TEXT.replace("Executor", "Sized");
        let files = [Hints::parse(TEXT)?, Hints::parse(&common)?];
        Ok(choose(&files, &check).map_or(String::new(), |(_, section)| section.heading.clone()))
    }

    #[test]
    fn a_failure_finds_its_section_by_its_words_then_by_its_name() -> Result<(), (usize, String)> {
        assert_eq!(heading(&[("test_b", "")])?, "test_a, `test_b`");
        assert_eq!(
            heading(&[("E0277", "no Executor here")])?,
            "E0277: Executor"
        );
        assert_eq!(heading(&[("E0277", "no Decode here")])?, "E0277");
        assert_eq!(heading(&[("E0277", "not Sized")])?, "E0277: Sized");
        assert_eq!(heading(&[("E9999", ""), ("E0277", "")])?, "E0277");
        assert_eq!(heading(&[("E9999", "")])?, "does not compile");
        assert_eq!(
            Hints::parse(TEXT)?.missing(&["test_a".to_owned(), "test_c".to_owned()]),
            ["test_c"]
        );
        Ok(())
    }

    #[test]
    fn items_keep_their_paragraphs_and_code() -> Result<(), (usize, String)> {
        assert_eq!(
            Hints::parse(TEXT)?.sections[0].levels[1],
            "Use this:\n\n```rust\nfn main() {\n    1. // looks like an item\n}\n```\n\nAnd a second paragraph."
        );
        Ok(())
    }

    #[test]
    fn a_fault_is_named_with_its_line() {
        let faulty = |from: &str, to: &str| {
            Hints::parse(&TEXT.replacen(from, to, 1)).map_err(|(line, _)| line)
        };
        assert_eq!(faulty("3. three\n", ""), Err(17));
        assert_eq!(faulty("2. two", "4. two"), Err(19));
        assert_eq!(faulty("## E0277\n", "## test_a\n"), Err(17));
        assert_eq!(faulty("## anything else", "## something else"), Err(35));
        assert_eq!(faulty("2. two", "two"), Err(19));
        assert_eq!(Hints::parse("").map_err(|(line, _)| line), Err(0));
    }
}
