//! The book as a whole: its pages in order, with titles and parts, from mdBook or from `SUMMARY.md`.

use std::path::{Component, Path, PathBuf};

use anyhow::Context;
use mdbook_preprocessor::book::{Book, BookItem};
use pulldown_cmark::{Event, Tag};

use crate::macros;
use workshop_base::outcome::Trouble;
use workshop_base::workspace::Workspace;

/// One page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Its file, relative to the book's source folder.
    pub path: PathBuf,
    /// The part of the book it is in; none before the first, and when it was read from disk.
    pub part: Option<String>,
    /// Its Markdown, as the author wrote it.
    pub text: String,
}

/// All pages of the book, in reading order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Site {
    /// The pages.
    pub pages: Vec<Page>,
}

impl Site {
    /// The book as mdBook hands it to its preprocessors.
    pub fn from_mdbook(book: &Book) -> Self {
        let mut pages = Vec::new();
        collect(&book.items, &mut None, &mut pages);
        Site { pages }
    }

    /// The book as it lies on disk.
    pub fn from_disk(workspace: &Workspace) -> anyhow::Result<Self> {
        let folder = workspace.book();
        let summary = folder.join("SUMMARY.md");
        let text = std::fs::read_to_string(&summary)
            .with_context(|| format!("cannot read {}", summary.display()))?;
        let mut pages = Vec::new();
        for (event, range) in macros::parser(&text).into_offset_iter() {
            let Event::Start(Tag::Link { dest_url, .. }) = event else {
                continue;
            };
            // A draft names no file.
            if dest_url.is_empty() {
                continue;
            }
            let path = normal(Path::new(dest_url.as_ref()));
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
                part: None,
                text: page,
            });
        }
        Ok(Site { pages })
    }

    /// The page with this file, relative to the source folder.
    pub fn page(&self, path: &Path) -> Option<&Page> {
        self.pages.iter().find(|page| page.path == path)
    }

    /// The page of an exercise: the one that says its minutes.
    pub fn exercise_page(&self, number: u8) -> Option<&Page> {
        self.pages.iter().find(|page| {
            macros::find(&page.text).iter().any(|call| {
                call.name == "minutes"
                    && !call.escaped
                    && call.exercise().is_ok_and(|named| named == number)
            })
        })
    }
}

/// The pages below these items, with the part that runs on from one to the next.
fn collect(items: &[BookItem], part: &mut Option<String>, pages: &mut Vec<Page>) {
    for item in items {
        match item {
            BookItem::PartTitle(title) => *part = Some(title.clone()),
            BookItem::Separator => {}
            BookItem::Chapter(chapter) => {
                if let Some(path) = chapter.source_path.as_ref().or(chapter.path.as_ref()) {
                    pages.push(Page {
                        path: path.clone(),
                        part: part.clone(),
                        text: chapter.content.clone(),
                    });
                }
                collect(&chapter.sub_items, part, pages);
            }
        }
    }
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
    format!(
        "{}{}",
        "../".repeat(up),
        to.to_string_lossy().replace('\\', "/")
    )
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
    fn a_link_climbs_to_the_source_folder_and_down_again() {
        assert_eq!(
            link(Path::new("a.md"), Path::new("exercises/02.md")),
            "exercises/02.md"
        );
        assert_eq!(link(Path::new("x/y/a.md"), Path::new("b.md")), "../../b.md");
    }
}
