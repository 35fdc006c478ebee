//! The book as a whole: its pages in order, with the parts they are in, as `SUMMARY.md` lists them.

use std::path::{Component, Path, PathBuf};

use pulldown_cmark::{Event, Tag};

use crate::macros::{self, MacroCall};
use workshop_base::files;
use workshop_base::outcome::Trouble;
use workshop_base::workspace::Workspace;

/// What `SUMMARY.md` begins with; its other headings are the titles of parts.
const SUMMARY: &str = "Summary";

/// One page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Its file, relative to the book's source folder.
    pub path: PathBuf,
    /// The part of the book it is in; none before the first.
    pub part: Option<String>,
    /// Its Markdown, as the author wrote it.
    pub text: String,
}

impl Page {
    /// Its file, relative to the checkout's root.
    pub fn file(&self) -> PathBuf {
        Path::new("book").join(&self.path)
    }

    /// A file as this page names it, relative to the checkout's root.
    pub fn beside(&self, path: &str) -> PathBuf {
        let file = self.file();
        normal(&file.parent().unwrap_or(Path::new("")).join(path))
    }

    /// The macros that it calls, without those that it only shows.
    pub fn calls(&self) -> impl Iterator<Item = MacroCall> {
        let calls = macros::find(&self.text).into_iter();
        calls.filter(|call| !call.escaped)
    }

    /// The exercise whose number this macro names here.
    pub fn exercise(&self, name: &str) -> Option<u8> {
        let call = self.calls().find(|call| call.name == name)?;
        call.exercise().ok()
    }
}

/// All pages of the book, in reading order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Site {
    /// The pages.
    pub pages: Vec<Page>,
}

impl Site {
    /// The book as it lies on disk.
    pub fn read(workspace: &Workspace) -> anyhow::Result<Self> {
        let folder = workspace.book();
        let text = files::text(&folder.join("SUMMARY.md"))?;
        let mut pages = Vec::new();
        let mut part = None;
        for (event, range) in macros::parser(&text).into_offset_iter() {
            let path = match event {
                Event::Start(Tag::Heading { .. }) => {
                    let title = text[range].trim_matches('#').trim();
                    part = Some(title.to_owned()).filter(|title| title != SUMMARY);
                    continue;
                }
                // A draft names no file.
                Event::Start(Tag::Link { dest_url, .. }) if !dest_url.is_empty() => {
                    normal(Path::new(dest_url.as_ref()))
                }
                _ => continue,
            };
            let page = std::fs::read_to_string(folder.join(&path)).map_err(|error| {
                let line = macros::line_at(&text, range.start);
                let file = path.display();
                Trouble::new(format!(
                    "book/SUMMARY.md:{line}: cannot read {file}: {error}"
                ))
                .expected("a page for each entry of the table of contents")
                .next("write the page, or take the entry out")
                .failed()
            })?;
            pages.push(Page {
                path,
                part: part.clone(),
                text: page,
            });
        }
        Ok(Site { pages })
    }

    /// The book in another language: pages that its folder has take the place of the English ones with the same path.
    pub fn translated(mut self, workspace: &Workspace, language: &str) -> anyhow::Result<Self> {
        let folder = workspace.root().join(translation(language));
        for page in &mut self.pages {
            let file = folder.join(&page.path);
            if file.is_file() {
                page.text = files::text(&file)?;
            }
        }
        Ok(self)
    }

    /// The page with this file, relative to the source folder.
    pub fn page(&self, path: &Path) -> Option<&Page> {
        self.pages.iter().find(|page| page.path == path)
    }

    /// The page of an exercise: the one that says its minutes.
    pub fn exercise_page(&self, number: u8) -> Option<&Page> {
        let mut pages = self.pages.iter();
        pages.find(|page| page.exercise("minutes") == Some(number))
    }
}

/// The folder with the pages in another language, seen from the checkout's root: `book-de`.
pub fn translation(language: &str) -> PathBuf {
    PathBuf::from(format!("book-{language}"))
}

/// The path without `.` and with each `..` taken together with what it leaves.
pub fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir if normal.file_name().is_some() => {
                normal.pop();
            }
            other => normal.push(other),
        }
    }
    normal
}

/// The way from one page to another, as a link writes it.
pub fn link(from: &Path, to: &Path) -> String {
    let up = from
        .parent()
        .map_or(0, |folder| folder.components().count());
    format!("{}{}", "../".repeat(up), to.to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_that_says_the_minutes_is_the_exercises_page() {
        let page = |path: &str, text: &str| Page {
            path: path.into(),
            part: None,
            text: text.into(),
        };
        let site = Site {
            pages: vec![
                page("a.md", "`{{#minutes exercise-3}}`"),
                page("b.md", "{{#minutes exercise-3}}"),
            ],
        };
        assert_eq!(
            site.exercise_page(3).map(|page| page.path.clone()),
            Some("b.md".into())
        );
        assert_eq!(site.exercise_page(4), None);
    }

    #[test]
    fn a_page_without_a_translation_stays_english() -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let write =
            |file: &str, text: &str| files::write(&folder.path().join(file), text.as_bytes());
        write(
            "book/SUMMARY.md",
            "# Summary\n\n- [One](x/one.md)\n- [Two](two.md)\n",
        )?;
        write("book/x/one.md", "# One\n")?;
        write("book/two.md", "# Two\n")?;
        write("book-de/x/one.md", "# Eins\n")?;
        let workspace = Workspace::at(folder.path());
        let titles = |language| -> anyhow::Result<Vec<String>> {
            let site = Site::read(&workspace)?.translated(&workspace, language)?;
            Ok(site.pages.into_iter().map(|page| page.text).collect())
        };
        assert_eq!(titles("de")?, ["# Eins\n", "# Two\n"]);
        assert_eq!(titles("en")?, ["# One\n", "# Two\n"]);
        Ok(())
    }

    #[test]
    fn a_link_climbs_to_the_source_folder_and_down_again() {
        assert_eq!(
            link(Path::new("a.md"), Path::new("exercises/02.md")),
            "exercises/02.md"
        );
        assert_eq!(link(Path::new("x/y/a.md"), Path::new("b.md")), "../../b.md");
    }
}
