//! Planted mistakes: patches of a reference, `mistakes/*.patch` beside it, each with a header that names what catches it: a test,
//! the compiler's code, or `does not start`.

use std::path::{Path, PathBuf};

use crate::{files, outcome::Trouble, patches};

/// The most lines that the header of a patch has.
const HEADER: usize = 5;

#[derive(Debug)]
pub struct Mistake {
    pub file: PathBuf,
    /// The file's name without its ending.
    pub slug: String,
    /// What it is, in a few words.
    pub title: String,
    pub caught_by: String,
    /// Why it is one.
    pub why: String,
    /// What an instructor asks somebody who has written it, where it is one of those that many write.
    pub ask: Option<String>,
    /// Words of the hint for it, where they are declared.
    pub hint: Option<String>,
    /// What a reviewer of a pull request with it remarks on: a file, words of its line, what kind of fault it is, and who would have
    /// noticed, with `|` between them.
    pub review: Option<String>,
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
            let mut lines = patch.lines().take(HEADER);
            let text = lines.find_map(|line| line.strip_prefix(name))?.trim();
            (!text.is_empty()).then(|| text.to_owned())
        };
        let (Some(title), Some(caught_by), Some(why)) =
            (field("Title:"), field("Caught-by:"), field("Why:"))
        else {
            return Trouble::new(format!("{} has no complete header", file.display()))
                .expected("its first three lines to be Title: …, Caught-by: <test>, Why: …")
                .next("add them above the patch")
                .failed()
                .err();
        };
        let (ask, hint, review) = (field("Ask:"), field("Hint:"), field("Review:"));
        Ok(Mistake {
            file,
            slug,
            title,
            caught_by,
            why,
            ask,
            hint,
            review,
            patch,
        })
    }

    /// True where it compiles and starts, and a test catches it. Tests are named as sentences.
    pub fn is_caught_by_a_test(&self) -> bool {
        self.caught_by.contains('_')
    }

    /// What it is, why it is one, and how many lines it has: for someone who has looked for it.
    pub fn answer(&self) -> String {
        let Mistake { title, why, .. } = self;
        let body = &self.patch[self.header().len()..];
        let count = |sign: char, of_a_file: &str| {
            let lines = body.lines().filter(|line| line.starts_with(sign));
            lines.filter(|line| !line.starts_with(of_a_file)).count()
        };
        let (planted, before) = (count('+', "+++ b/"), count('-', "--- a/"));
        let lines = if planted == 1 { "line" } else { "lines" };
        let files: Vec<&str> = patches::files(body).collect();
        let files = files.join(" and ");
        format!(
            "{title}. {why}\nThe culprit: {planted} {lines} in {files}, where the reference has {before}."
        )
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
