//! Ways: other good answers to an exercise, patches of its reference in `ways/*.patch` beside it, each with a header that says what it is
//! and when somebody takes it. All of them are green.

use std::path::Path;

use workshop_base::{files, outcome::Trouble};

#[derive(Debug)]
pub struct OtherWay {
    /// The file's name without its ending.
    pub slug: String,
    /// What it is, in a few words.
    pub title: String,
    /// When somebody takes it, and when not.
    pub when: String,
    /// The difference to the reference.
    pub patch: String,
}

impl OtherWay {
    /// All ways of the reference in this folder, by name; none where it has no such folder.
    pub fn all(solution: &Path) -> anyhow::Result<Vec<OtherWay>> {
        let folder = solution.join("ways");
        if !folder.is_dir() {
            return Ok(Vec::new());
        }
        let patches = files::read_tree(&folder)?.into_iter();
        let patches = patches.filter_map(|(path, bytes)| {
            let slug = path.to_str()?.strip_suffix(".patch")?.to_owned();
            Some((slug, String::from_utf8_lossy(&bytes).into_owned()))
        });
        patches
            .map(|(slug, text)| {
                OtherWay::parse(&slug, &text).ok_or_else(|| {
                    Trouble::new(format!(
                        "{}/{slug}.patch has no complete header",
                        folder.display()
                    ))
                    .expected("Title: …, then When: …, then an empty line and the patch")
                    .next("add them above the patch")
                    .failed()
                    .into()
                })
            })
            .collect()
    }

    fn parse(slug: &str, text: &str) -> Option<OtherWay> {
        let (header, patch) = text.split_once("\n\n")?;
        let (title, when) = header.strip_prefix("Title: ")?.split_once("\nWhen: ")?;
        Some(OtherWay {
            slug: slug.to_owned(),
            title: title.to_owned(),
            when: when.replace('\n', " "),
            patch: patch.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_says_what_it_is_and_when_it_is_taken() {
        let way = OtherWay::parse("a", "Title: By hand\nWhen: Rarely,\nif ever.\n\n--- a/x\n");
        let way = way.map(|way| (way.title, way.when, way.patch));
        let expected = ["By hand", "Rarely, if ever.", "--- a/x\n"].map(str::to_owned);
        assert_eq!(way, Some(expected.into()));
        assert!(OtherWay::parse("a", "Title: By hand\n\n--- a/x\n").is_none());
    }
}
