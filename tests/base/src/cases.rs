//! Debugging cases: a reference with a colleague's feature in it that fails under load, `cases/NAME` beside the reference. The reader
//! finds the fault with tools, writes a diagnosis, and then the fix.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;

use crate::exercise::{Catalogue, Exercise, Minutes};
use crate::files::{self, Tree};
use crate::originals;
use crate::outcome::Trouble;
use crate::patches;
use crate::workspace::Workspace;

/// Where cases are, beside a reference.
pub const FOLDER: &str = "cases";
/// The patch that adds the feature to the reference, fault included.
const FEATURE: &str = "feature.patch";
/// The patch that takes the fault out of the feature.
const FIX: &str = "fix.patch";

/// One case, as its `case.toml` describes it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DebugCase {
    /// Its name on the command line, and that of its suite.
    #[serde(skip)]
    pub name: String,
    /// The number of the exercise whose reference it is planted in.
    #[serde(skip)]
    pub exercise: u8,
    #[serde(skip)]
    folder: PathBuf,
    /// What goes wrong, in a few words.
    pub title: String,
    /// What the person with the pager says.
    pub symptoms: String,
    /// The planned minutes.
    pub minutes: Minutes,
    /// The tests that are red with the fault.
    pub red: Vec<String>,
    /// The file at fault.
    pub file: String,
    /// The statement at fault, as it is in that file.
    pub statement: String,
    /// Lines that people point at first, each with what there is to say to them.
    #[serde(default)]
    pub near: Vec<NearMiss>,
    /// The name of what is wrong with it.
    pub mechanism: String,
    /// What has to be given as evidence.
    pub evidence: String,
    /// Who may be suspected as well, and didn't do it.
    pub suspects: BTreeMap<String, Suspect>,
    /// The cause, in sentences, for those who have found it.
    pub answer: String,
    /// What an instructor asks people who are stuck.
    pub ask: String,
}

/// A line that isn't at fault, though much speaks for it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NearMiss {
    /// The statement.
    pub statement: String,
    /// What to say about it.
    pub says: String,
}

/// A suspect that didn't do it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Suspect {
    /// What shows that.
    pub by: Vec<String>,
    /// What one sees there.
    pub why: String,
}

impl DebugCase {
    /// All cases of an exercise's reference, by name.
    pub fn all(workspace: &Workspace, exercise: &Exercise) -> anyhow::Result<Vec<DebugCase>> {
        let folder = exercise.solution(workspace).join(FOLDER);
        let mut cases = Vec::new();
        for (path, text) in files::read_tree(&folder)? {
            let Some(name) = path
                .to_str()
                .and_then(|path| path.strip_suffix("/case.toml"))
            else {
                continue;
            };
            let read = toml::from_slice(&text).map_err(|error| {
                let shown = files::shown(workspace, &folder.join(&path));
                Trouble::new(format!("{shown} is malformed: {error}"))
                    .next(format!("git diff -- {shown}"))
            });
            cases.push(DebugCase {
                name: name.to_owned(),
                exercise: exercise.number,
                folder: folder.join(name),
                ..read?
            });
        }
        Ok(cases)
    }

    /// The case of this name.
    pub fn named(workspace: &Workspace, name: &str) -> anyhow::Result<DebugCase> {
        let mut known = Vec::new();
        for exercise in Catalogue::read(workspace)?.iter() {
            known.extend(DebugCase::all(workspace, exercise)?);
        }
        let names: Vec<String> = known.iter().map(|case| case.name.clone()).collect();
        let found = known.into_iter().find(|case| case.name == name);
        found.ok_or_else(|| {
            Trouble::new(format!("there is no case {name}"))
                .expected(format!("one of: {}", names.join(", ")))
                .next("just hunt with one of these")
                .into()
        })
    }

    /// The patch that takes the fault out of the feature.
    pub fn fix(&self) -> anyhow::Result<String> {
        files::text(&self.folder.join(FIX))
    }

    /// The files of the reference with the feature, and with the fix or without it.
    pub fn files(&self, workspace: &Workspace, fixed: bool) -> anyhow::Result<Tree> {
        let (mut tree, _) = self.grown(workspace, fixed)?;
        tree.retain(|path, _| !originals::is_the_authors(path));
        Ok(tree)
    }

    /// The same, as one patch of the reference.
    pub fn patch(&self, workspace: &Workspace, fixed: bool) -> anyhow::Result<String> {
        let (grown, reference) = self.grown(workspace, fixed)?;
        Ok(patches::between(&reference, &grown))
    }

    /// What the reference becomes, and the reference.
    fn grown(&self, workspace: &Workspace, fixed: bool) -> anyhow::Result<(Tree, Tree)> {
        let catalogue = Catalogue::read(workspace)?;
        let reference = files::read_tree(&catalogue.get(self.exercise)?.solution(workspace))?;
        let mut grown = reference.clone();
        let mut all = vec![(FEATURE, files::text(&self.folder.join(FEATURE))?)];
        if fixed {
            all.push((FIX, self.fix()?));
        }
        for (name, patch) in all {
            patches::apply(&mut grown, &patch).map_err(|misfit| {
                Trouble::new(format!("{name} of the case {} {misfit}", self.name))
                    .expected("patches made against the reference as it is now")
                    .next("make the patch again with git diff")
            })?;
        }
        Ok((grown, reference))
    }

    /// Its hints.
    pub fn hints(&self) -> PathBuf {
        self.folder.join("hints.md")
    }
}

/// The lines, from 1, on which a statement is in a text; none where it isn't there as it was.
pub fn lines_of(statement: &str, text: &str) -> Option<std::ops::RangeInclusive<usize>> {
    let wanted: Vec<&str> = statement.trim().lines().map(str::trim).collect();
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let mut windows = lines.windows(wanted.len().max(1));
    let before = windows.position(|window| window == wanted)?;
    Some(before + 1..=before + wanted.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_is_found_with_all_of_its_lines() {
        let text = "fn a() {\n    let x = f(\n        1,\n    );\n}\n";
        assert_eq!(lines_of("let x = f(\n    1,\n);\n", text), Some(2..=4));
        assert_eq!(lines_of("fn a() {", text), Some(1..=1));
        assert_eq!(lines_of("let y = 1;", text), None);
    }
}
