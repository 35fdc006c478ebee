//! Planted mistakes: patches of a reference, `mistakes/*.patch` beside it, each with a header that names the test that
//! catches it.

use std::path::{Path, PathBuf};

use workshop_base::{files, outcome::Trouble};

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
    pub fn all(solution: &Path) -> anyhow::Result<Vec<Mistake>> {
        let folder = solution.join("mistakes");
        let files = files::read_tree(&folder)?.into_iter();
        files
            .filter_map(|(path, bytes)| {
                let slug = path.to_str()?.strip_suffix(".patch")?.to_owned();
                let patch = String::from_utf8_lossy(&bytes).into_owned();
                Some(Mistake::read(folder.join(&path), slug, patch))
            })
            .collect()
    }

    fn read(file: PathBuf, slug: String, patch: String) -> anyhow::Result<Mistake> {
        let field = |name: &str| {
            let mut lines = patch.lines().take(3);
            let text = lines.find_map(|line| line.strip_prefix(name))?.trim();
            (!text.is_empty()).then(|| text.to_owned())
        };
        let (Some(_), Some(caught_by), Some(_)) =
            (field("Title:"), field("Caught-by:"), field("Why:"))
        else {
            return Trouble::new(format!("{} has no complete header", file.display()))
                .expected("its first three lines to be Title: …, Caught-by: <test>, Why: …")
                .next("add them above the patch")
                .failed()
                .err();
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
