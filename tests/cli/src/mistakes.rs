//! Planted mistakes: patches of a reference, `mistakes/*.patch` beside it, each with a header that names the test that
//! catches it.

use std::path::{Path, PathBuf};

use anyhow::Context;

use workshop_base::outcome::Trouble;

/// One planted mistake.
#[derive(Debug)]
pub struct Mistake {
    /// The patch's file.
    pub file: PathBuf,
    /// The file's name without its ending.
    pub slug: String,
    /// The test that catches it.
    pub caught_by: String,
    /// The whole text of the file, header included.
    pub patch: String,
}

impl Mistake {
    /// All mistakes of the reference in this folder, by name.
    ///
    /// # Errors
    /// When a file cannot be read or has no complete header.
    pub fn all(solution: &Path) -> anyhow::Result<Vec<Mistake>> {
        let folder = solution.join("mistakes");
        let mut files: Vec<PathBuf> = match std::fs::read_dir(&folder) {
            Ok(entries) => entries
                .map(|entry| entry.map(|entry| entry.path()))
                .collect::<Result<_, _>>()?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(error) => {
                return Err(error).with_context(|| format!("cannot list {}", folder.display()));
            }
        };
        files.retain(|file| {
            file.extension()
                .is_some_and(|extension| extension == "patch")
        });
        files.sort();
        files.into_iter().map(Mistake::read).collect()
    }

    fn read(file: PathBuf) -> anyhow::Result<Mistake> {
        let patch = std::fs::read_to_string(&file)
            .with_context(|| format!("cannot read {}", file.display()))?;
        let slug = file
            .file_stem()
            .map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
        let field = |name: &str| {
            patch
                .lines()
                .take(3)
                .find_map(|line| line.strip_prefix(name))
                .map(str::trim)
        };
        let complete = ["Title:", "Caught-by:", "Why:"]
            .iter()
            .all(|name| field(name).is_some_and(|text| !text.is_empty()));
        let Some(caught_by) = field("Caught-by:").filter(|_| complete).map(str::to_owned) else {
            return Err(
                Trouble::new(format!("{} has no complete header", file.display()))
                    .expected("its first three lines to be Title: …, Caught-by: <test>, Why: …")
                    .next("add them above the patch")
                    .failed()
                    .into(),
            );
        };
        Ok(Mistake {
            file,
            slug,
            caught_by,
            patch,
        })
    }

    /// The lines above the patch.
    pub fn header(&self) -> &str {
        let starts = ["\ndiff --git ", "\n--- "];
        let end = starts
            .iter()
            .filter_map(|start| self.patch.find(start))
            .min();
        end.map_or(self.patch.as_str(), |end| &self.patch[..=end])
    }
}
