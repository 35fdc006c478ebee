//! The hints of an exercise: `hints.md`, one section a failure (a test's name or a compiler code), three levels each.

use std::path::Path;

use workshop_base::outcome::Trouble;

/// The number of levels of every section.
pub const LEVELS: usize = 3;

/// The key of the section for every failure that has none of its own.
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
    /// The tests and compiler codes that the section is for.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.heading
            .split(',')
            .map(|key| key.trim().trim_matches('`'))
    }
}

/// A parsed `hints.md`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hints {
    sections: Vec<Section>,
    anything_else: Section,
}

/// Reads and parses a `hints.md`.
///
/// # Errors
/// When it cannot be read, or is not written as the course writes it; the error names file and line.
pub fn read(path: &Path) -> anyhow::Result<Hints> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        Trouble::new(format!("{} cannot be read ({error})", path.display()))
            .expected("the hints of the exercise")
            .next(format!("git restore {}", path.display()))
    })?;
    Hints::parse(&text).map_err(|(line, fault)| {
        Trouble::new(format!("{}, line {line}: {fault}", path.display()))
            .expected(format!(
                "sections `## <test or compiler code>` with the items 1. to {LEVELS}., and a last one `## {ANYTHING_ELSE}`"
            ))
            .next(format!("git restore {}", path.display()))
            .into()
    })
}

impl Hints {
    /// Parses the text of a `hints.md`.
    ///
    /// # Errors
    /// The number of the line at fault, and the fault.
    pub fn parse(text: &str) -> Result<Self, (usize, String)> {
        let mut sections: Vec<(usize, Section)> = Vec::new();
        let mut lines = 0;
        for (index, line) in text.lines().enumerate() {
            lines = index + 1;
            let fault = |fault: &str| Err((lines, fault.to_owned()));
            if let Some(heading) = line.strip_prefix("## ") {
                sections.push((
                    lines,
                    Section {
                        heading: heading.trim().to_owned(),
                        levels: Vec::new(),
                    },
                ));
                continue;
            }
            let Some((_, section)) = sections.last_mut() else {
                if line.trim().is_empty() || line.starts_with("# ") {
                    continue;
                }
                return fault("text before the first section");
            };
            if let Some((number, text)) = numbered(line) {
                if number != section.levels.len() + 1 {
                    return fault(&format!(
                        "item {number} where {} comes next",
                        section.levels.len() + 1
                    ));
                }
                section.levels.push(text.to_owned());
            } else if let Some(level) = section.levels.last_mut() {
                if !line.trim().is_empty() && !line.starts_with(' ') {
                    return fault("text that belongs to no item; indent it by three spaces");
                }
                level.push('\n');
                level.push_str(unindented(line));
            } else if !line.trim().is_empty() {
                return fault("text before the item 1.");
            }
        }
        let mut seen = std::collections::BTreeSet::new();
        for (line, section) in &mut sections {
            if section.levels.len() != LEVELS {
                let count = section.levels.len();
                return Err((
                    *line,
                    format!("{} has {count} items, not {LEVELS}", section.heading),
                ));
            }
            for level in &mut section.levels {
                *level = level.trim().to_owned();
            }
            for key in section.keys() {
                if key.is_empty() || !seen.insert(key.to_owned()) {
                    return Err((
                        *line,
                        format!(
                            "{:?} has no key, or one that was there before",
                            section.heading
                        ),
                    ));
                }
            }
        }
        let mut sections: Vec<Section> = sections.into_iter().map(|(_, section)| section).collect();
        match sections.pop() {
            Some(anything_else) if anything_else.heading == ANYTHING_ELSE => Ok(Hints {
                sections,
                anything_else,
            }),
            _ => Err((lines, format!("the last section is not {ANYTHING_ELSE:?}"))),
        }
    }

    /// The section for a test or a compiler code; the one for anything else when it has none of its own.
    pub fn for_key(&self, key: &str) -> &Section {
        self.own(key).unwrap_or(&self.anything_else)
    }

    /// The section of the first of these keys that has one of its own; else the one for anything else.
    pub fn for_keys<'a>(&self, keys: impl IntoIterator<Item = &'a str>) -> &Section {
        keys.into_iter()
            .find_map(|key| self.own(key))
            .unwrap_or(&self.anything_else)
    }

    /// Those of the tests that have no section of their own.
    pub fn missing<S: AsRef<str>>(&self, tests: &[S]) -> Vec<String> {
        tests
            .iter()
            .map(AsRef::as_ref)
            .filter(|test| self.own(test).is_none())
            .map(str::to_owned)
            .collect()
    }

    fn own(&self, key: &str) -> Option<&Section> {
        self.sections
            .iter()
            .find(|section| section.keys().any(|own| own == key))
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

## anything else
1. first
2. second
3. third
";

    #[test]
    fn a_section_is_found_by_each_of_its_keys() -> Result<(), (usize, String)> {
        let hints = Hints::parse(TEXT)?;
        assert_eq!(hints.for_key("test_a"), hints.for_key("test_b"));
        assert_eq!(hints.for_key("E0277").levels, ["one", "two", "three"]);
        assert_eq!(hints.for_key("E9999").heading, "anything else");
        assert_eq!(hints.for_keys(["E9999", "E0277"]).heading, "E0277");
        assert_eq!(hints.missing(&["test_a", "test_c"]), ["test_c"]);
        Ok(())
    }

    #[test]
    fn items_keep_their_paragraphs_and_code() -> Result<(), (usize, String)> {
        let hints = Hints::parse(TEXT)?;
        assert_eq!(
            hints.for_key("test_a").levels[1],
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
        assert_eq!(faulty("## E0277", "## test_a"), Err(17));
        assert_eq!(faulty("## anything else", "## something else"), Err(25));
        assert_eq!(faulty("2. two", "two"), Err(19));
        assert_eq!(Hints::parse("").map_err(|(line, _)| line), Err(0));
    }
}
