//! The hints of an exercise: `hints.md`, one section per failure, three levels each. `exercises/hints.md` has those that fit
//! every exercise, and `exercises/kotlin-words.md` those for a line that is still Kotlin, which go before all others.
//!
//! A heading lists the failures that its section is for, separated by commas: a test's name, a compiler's code (`E0277`,
//! `error` where there is none, `kotlin`), [`DOES_NOT_COMPILE`] or [`state::DOES_NOT_START`](crate::state::DOES_NOT_START). `E0277: Executor` is only for an E0277
//! whose words contain "Executor", and goes before `E0277`, also before the exercise's own; the same holds for tests, with the
//! words of the failure.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::state::{CheckOutcome, Fault, LastCheck};

use workshop_base::files::{self, Tree};
use workshop_base::{exercise::Exercise, outcome::Trouble, workspace::Workspace};

/// The file that hints are in.
const NAME: &str = "hints.md";

/// The number of levels of every section.
pub const LEVELS: usize = 3;

/// The key for compiler errors that have no section of their own.
pub const DOES_NOT_COMPILE: &str = "does not compile";

/// The key of the last section, for all that has none of its own.
pub const ANYTHING_ELSE: &str = "anything else";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// The heading as written: its keys, separated by commas.
    pub heading: String,
    /// The levels, first to last, as Markdown without the list's numbers and indentation.
    pub levels: Vec<String>,
}

impl Section {
    /// Parses what follows a section's `## `, from its last item to its heading; none where another line isn't indented.
    fn parse(text: &str) -> Option<Self> {
        let mut heading = text;
        let mut levels = Vec::new();
        for item in (1..=LEVELS).rev() {
            let (before, level) = heading.rsplit_once(&format!("\n{item}. "))?;
            levels.insert(0, level.replace("\n   ", "\n").trim().to_owned());
            heading = before;
        }
        let heading = heading.trim().to_owned();
        let below = text.lines().skip(1).filter(|line| !line.trim().is_empty());
        let items = below.filter(|line| !line.starts_with("   ")).count();
        (items == LEVELS && !heading.contains('\n')).then_some(Section { heading, levels })
    }

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
            .any(|(name, words)| name == fault.name && has_words(&fault.said, words))
    }
}

/// True where the text has the words as words: `val` is neither in `interval` nor in `value`.
fn has_words(text: &str, words: &str) -> bool {
    let begins = words.starts_with(char::is_alphanumeric);
    let ends = words.ends_with(char::is_alphanumeric);
    text.match_indices(words).any(|(at, _)| {
        let before = begins && text[..at].ends_with(char::is_alphanumeric);
        let after = ends && text[at + words.len()..].starts_with(char::is_alphanumeric);
        !before && !after
    })
}

/// A parsed `hints.md`; the last section is the one for anything else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hints {
    sections: Vec<Section>,
}

/// The hints for what is still Kotlin, those of an exercise, and those that fit every exercise.
pub fn of(workspace: &Workspace, exercise: &Exercise) -> anyhow::Result<Vec<Hints>> {
    let [words, own, common] = paths(workspace, exercise);
    let mut files = vec![of_the_exercise(&own)?];
    if words.exists() {
        files.insert(0, read(&words, Hints::words)?);
    }
    if common.exists() {
        files.push(read(&common, Hints::parse)?);
    }
    Ok(files)
}

/// The hints of a debugging case or an incident: its own, and behind them those for code that doesn't compile.
pub fn of_case(workspace: &Workspace, own: &Path) -> anyhow::Result<Vec<Hints>> {
    let common = workspace.exercises().join(NAME);
    let mut files = vec![of_the_exercise(own)?];
    if common.exists() {
        files.push(read(&common, Hints::parse)?);
    }
    Ok(files)
}

/// The tests among these that an exercise's own hints don't mention.
pub fn missing(
    workspace: &Workspace,
    exercise: &Exercise,
    tests: &[String],
) -> anyhow::Result<Vec<String>> {
    let [_, own, _] = paths(workspace, exercise);
    missing_in(&own, tests)
}

/// The tests among these that the hints in this file don't mention.
pub fn missing_in(path: &Path, tests: &[String]) -> anyhow::Result<Vec<String>> {
    Ok(of_the_exercise(path)?.missing(tests))
}

fn of_the_exercise(own: &Path) -> anyhow::Result<Hints> {
    read(own, Hints::parse)
}

/// The files that hold them, with their contents.
pub fn files(workspace: &Workspace, exercise: &Exercise) -> anyhow::Result<Tree> {
    let mut tree = Tree::new();
    for path in paths(workspace, exercise) {
        if let Some(text) = files::read_if_there(&path)? {
            tree.insert(path, text);
        }
    }
    Ok(tree)
}

fn paths(workspace: &Workspace, exercise: &Exercise) -> [PathBuf; 3] {
    let own = exercise.starter(workspace).join(NAME);
    let shared = workspace.exercises();
    [shared.join("kotlin-words.md"), own, shared.join(NAME)]
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

fn read(path: &Path, parse: fn(&str) -> Result<Hints, (usize, String)>) -> anyhow::Result<Hints> {
    let parsed = std::fs::read_to_string(path)
        .map_err(|error| format!(" cannot be read ({error})"))
        .and_then(|text| parse(&text).map_err(|(line, fault)| format!(", line {line}: {fault}")));
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
    /// Parses the text of a `hints.md`, which ends with [`ANYTHING_ELSE`]; an error has the line of the section at fault.
    pub fn parse(text: &str) -> Result<Self, (usize, String)> {
        let hints = Hints::words(text)?;
        match hints.sections.last() {
            Some(last) if last.heading == ANYTHING_ELSE => Ok(hints),
            _ => {
                let fault = format!("the last section is not {ANYTHING_ELSE:?}");
                Err((text.lines().count(), fault))
            }
        }
    }

    /// Parses sections of which none is for anything else.
    pub fn words(text: &str) -> Result<Self, (usize, String)> {
        let mut parts = text.split("\n## ");
        let title = parts.next().unwrap_or_default();
        if !title.trim().lines().all(|line| line.starts_with("# ")) {
            return Err((1, "text before the first section".to_owned()));
        }
        let mut line = title.matches('\n').count() + 2;
        let mut sections: Vec<Section> = Vec::new();
        let mut seen = BTreeSet::new();
        for part in parts {
            let heading = part.lines().next().unwrap_or_default();
            let fault = |fault: &str| (line, format!("{heading:?} has {fault}"));
            let section = Section::parse(part)
                .ok_or_else(|| fault("other items, or text that isn't indented by three spaces"))?;
            let mut is_new = |key: &str| !key.is_empty() && seen.insert(key.to_owned());
            if !section.keys().all(&mut is_new) {
                return Err(fault("no key, or one that was there before"));
            }
            sections.push(section);
            line += part.matches('\n').count() + 1;
        }
        Ok(Hints { sections })
    }

    /// Those of the tests that have no section of their own.
    pub fn missing(&self, tests: &[String]) -> Vec<String> {
        let mut missing = tests.to_vec();
        missing.retain(|test| !self.sections.iter().any(|section| section.is_for(test)));
        missing
    }
}

#[cfg(test)]
mod tests {
    use workshop_base::exercise::Catalogue;
    use workshop_base::mistakes::Mistake;

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
    fn a_fault_is_named_with_the_line_of_its_section() {
        let faulty = |from: &str, to: &str| {
            Hints::parse(&TEXT.replacen(from, to, 1)).map_err(|(line, _)| line)
        };
        assert_eq!(faulty("3. three\n", ""), Err(17));
        assert_eq!(faulty("2. two", "4. two"), Err(17));
        assert_eq!(faulty("## E0277\n", "## test_a\n"), Err(17));
        assert_eq!(faulty("## anything else", "## something else"), Err(35));
        assert_eq!(faulty("2. two", "two"), Err(17));
        assert_eq!(faulty("1. one", "one\n1. one"), Err(17));
        assert_eq!(faulty("# Hints", "Hints"), Err(1));
        assert_eq!(faulty("3. three", "3. three\n4. four"), Err(17));
        assert_eq!(Hints::parse("").map_err(|(line, _)| line), Err(0));
    }

    /// `verify` also judges that the section is the one that the learner gets.
    #[test]
    fn the_words_that_a_planted_mistake_wants_in_its_hint_are_in_one() -> anyhow::Result<()> {
        let checkout = Workspace::at(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
        for exercise in Catalogue::read(&checkout)?.iter() {
            for mistake in Mistake::all(&exercise.solution(&checkout))? {
                let Some(words) = &mistake.hint else { continue };
                let files = of(&checkout, exercise)?;
                let mut sections = files.iter().flat_map(|hints| &hints.sections);
                let file = mistake.file.display();
                assert!(
                    sections.any(|section| section.is_own() && section.says(words)),
                    "{file} wants {words:?}, and the first two levels of no hint have that"
                );
            }
        }
        Ok(())
    }
}
