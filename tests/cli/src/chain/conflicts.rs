//! `.workshop/carry`: where the author finds what could not be merged, and writes what it shall be.
//!
//! A file there has the path of the file that it is about. It counts as decided when no marker is left in it, and only
//! for the contents that it was made from: should one of them change meanwhile, it is set aside and the merge begins
//! anew. Nothing that somebody wrote is overwritten.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::Context;
use jiff::Timestamp;

use crate::chain::git;
use crate::chain::merge::Conflict;
use workshop_base::files;
use workshop_base::workspace::Workspace;

/// What the markers of git's merge begin with: before ours, the base, and after theirs.
const MARKERS: [&str; 3] = ["<<<<<<< ", "||||||| ", ">>>>>>> "];

/// The marker before theirs, which has no name.
const BETWEEN: &str = "=======";

/// The file that says what the others were made from.
const MADE_FROM: &str = "made-from.toml";

/// The folder, and what is known of its files.
#[derive(Debug)]
pub struct Desk {
    folder: PathBuf,
    made_from: BTreeMap<PathBuf, MadeFrom>,
}

/// What a file on the desk was made from, and how it was laid out.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
struct MadeFrom {
    inputs: String,
    laid_out: String,
}

/// What has become of a conflict.
#[derive(Debug, PartialEq, Eq)]
pub enum Decision {
    /// The author decided: this content, or no file.
    Made(Option<Vec<u8>>),
    /// Markers are left; this is the file to edit.
    Open(PathBuf),
}

impl Desk {
    /// Opens the folder, which need not be there.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn open(workspace: &Workspace) -> anyhow::Result<Desk> {
        let folder = workspace.state().join("carry");
        let path = folder.join(MADE_FROM);
        let made_from = match fs::read_to_string(&path) {
            Ok(text) => toml::from_str(&text)
                .with_context(|| format!("{} cannot be understood", path.display()))?,
            Err(error) if error.kind() == ErrorKind::NotFound => BTreeMap::new(),
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read {}", path.display()));
            }
        };
        Ok(Desk { folder, made_from })
    }

    /// Looks whether a conflict about `file` (relative to the checkout) is decided, and lays it out where it is not.
    ///
    /// # Errors
    /// When the folder cannot be read or written.
    pub fn decide(&mut self, file: &Path, conflict: &Conflict) -> anyhow::Result<Decision> {
        let place = self.folder.join(file);
        let there = match fs::read(&place) {
            Ok(content) => Some(content),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read {}", place.display()));
            }
        };
        let made_from = self.made_from.get(file);
        if let Some(content) = there {
            if made_from.is_some_and(|made_from| made_from.inputs == conflict.inputs) {
                return Ok(if has_markers(&content) {
                    Decision::Open(place)
                } else {
                    Decision::Made((!content.is_empty()).then_some(content))
                });
            }
            if made_from.is_none_or(|made_from| made_from.laid_out != git::id(&content)) {
                set_aside(&place)?;
            }
        }
        files::write_atomically(&place, &conflict.text)?;
        self.made_from.insert(
            file.to_path_buf(),
            MadeFrom {
                inputs: conflict.inputs.clone(),
                laid_out: git::id(&conflict.text),
            },
        );
        files::write_atomically(
            &self.folder.join(MADE_FROM),
            toml::to_string(&self.made_from)?.as_bytes(),
        )?;
        Ok(Decision::Open(place))
    }

    /// Removes the folder: everything in it is in place now.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn clear(self) -> anyhow::Result<()> {
        match fs::remove_dir_all(&self.folder) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(error).with_context(|| format!("cannot remove {}", self.folder.display()))
            }
            _ => Ok(()),
        }
    }
}

/// A place in a text where both sides stand between markers.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Disagreement {
    /// The line of the first marker, from 1.
    pub line: usize,
    /// What stands here.
    pub ours: String,
    /// What both sides had.
    pub base: String,
    /// What the change makes of it.
    pub theirs: String,
}

/// All places in a text with markers.
pub fn disagreements(text: &str) -> Vec<Disagreement> {
    let mut found = Vec::new();
    let mut here = Disagreement::default();
    let mut side: Option<fn(&mut Disagreement) -> &mut String> = None;
    for (number, line) in (1..).zip(text.lines()) {
        if line.starts_with(MARKERS[0]) {
            here.line = number;
            side = Some(|here| &mut here.ours);
        } else if line.starts_with(MARKERS[1]) {
            side = Some(|here| &mut here.base);
        } else if line == BETWEEN && side.is_some() {
            side = Some(|here| &mut here.theirs);
        } else if line.starts_with(MARKERS[2]) {
            found.push(std::mem::take(&mut here));
            side = None;
        } else if let Some(side) = side {
            let text = side(&mut here);
            text.push_str(line);
            text.push('\n');
        }
    }
    found
}

fn has_markers(content: &[u8]) -> bool {
    String::from_utf8_lossy(content)
        .lines()
        .any(|line| line == BETWEEN || MARKERS.iter().any(|marker| line.starts_with(marker)))
}

fn set_aside(place: &Path) -> anyhow::Result<()> {
    let mut name = place.as_os_str().to_owned();
    name.push(format!(".before-{}", Timestamp::now().as_millisecond()));
    fs::rename(place, &name).with_context(|| format!("cannot set {} aside", place.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disagreement_has_three_texts() {
        let text = "1\n<<<<<<< a\nours\n||||||| b\nbase\n=======\ntheirs\n>>>>>>> c\n=======\n";
        assert_eq!(
            disagreements(text),
            [Disagreement {
                line: 2,
                ours: "ours\n".to_owned(),
                base: "base\n".to_owned(),
                theirs: "theirs\n".to_owned(),
            }]
        );
    }
}
