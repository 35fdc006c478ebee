//! The book as a whole: its pages in order, with titles and parts, from mdBook or from `SUMMARY.md`.

use std::path::{Component, Path, PathBuf};

use anyhow::Context;
use mdbook_preprocessor::book::{Book, BookItem};
use pulldown_cmark::{Event, HeadingLevel, Tag, TagEnd};

use crate::macros;
use workshop_base::outcome::Trouble;
use workshop_base::workspace::Workspace;

/// One page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Its file, relative to the book's source folder.
    pub path: PathBuf,
    /// Its title in the table of contents.
    pub title: String,
    /// The part of the book it stands in; none before the first.
    pub part: Option<String>,
    /// Its Markdown, as the author wrote it.
    pub text: String,
    /// The line of `SUMMARY.md` that names it; 0 when it came from mdBook.
    pub summary_line: usize,
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
    ///
    /// # Errors
    /// When `SUMMARY.md` or a page that it names cannot be read.
    pub fn from_disk(workspace: &Workspace) -> anyhow::Result<Self> {
        let folder = workspace.book();
        let summary = folder.join("SUMMARY.md");
        let text = std::fs::read_to_string(&summary)
            .with_context(|| format!("cannot read {}", summary.display()))?;
        let mut pages = Vec::new();
        for mut page in entries(&text) {
            let file = folder.join(&page.path);
            page.text = std::fs::read_to_string(&file).map_err(|error| {
                Trouble::new(format!(
                    "book/SUMMARY.md:{}: cannot read {}: {error}",
                    page.summary_line,
                    page.path.display()
                ))
                .expected("a page for each entry of the table of contents")
                .next("write the page, or take the entry out")
                .failed()
            })?;
            pages.push(page);
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
                        title: chapter.name.clone(),
                        part: part.clone(),
                        text: chapter.content.clone(),
                        summary_line: 0,
                    });
                }
                collect(&chapter.sub_items, part, pages);
            }
        }
    }
}

/// The entries of a `SUMMARY.md`: links are pages, headings of the first level after the title are parts.
fn entries(summary: &str) -> Vec<Page> {
    let mut pages = Vec::new();
    let mut part = None;
    let mut heading: Option<String> = None;
    let mut link: Option<(PathBuf, String, usize)> = None;
    let mut title_seen = false;
    for (event, range) in macros::parser(summary).into_offset_iter() {
        match event {
            Event::Start(Tag::Heading {
                level: HeadingLevel::H1,
                ..
            }) => heading = Some(String::new()),
            Event::End(TagEnd::Heading(HeadingLevel::H1)) => {
                if let Some(text) = heading.take() {
                    // The first heading is the table's own title when nothing stands before it.
                    if title_seen || !pages.is_empty() {
                        part = Some(text);
                    }
                    title_seen = true;
                }
            }
            Event::Start(Tag::Link { dest_url, .. }) if !dest_url.is_empty() => {
                link = Some((
                    PathBuf::from(dest_url.as_ref()),
                    String::new(),
                    macros::line_at(summary, range.start),
                ));
            }
            Event::End(TagEnd::Link) => {
                if let Some((path, title, summary_line)) = link.take() {
                    pages.push(Page {
                        path: normal(&path),
                        title,
                        part: part.clone(),
                        text: String::new(),
                        summary_line,
                    });
                }
            }
            Event::Text(text) | Event::Code(text) => {
                if let Some((_, title, _)) = &mut link {
                    title.push_str(&text);
                } else if let Some(heading) = &mut heading {
                    heading.push_str(&text);
                }
            }
            _ => {}
        }
    }
    pages
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
    fn a_summary_gives_pages_with_titles_and_parts() {
        let pages = entries(
            "# Summary\n\n[Preface](preface.md)\n\n# The port\n\n- [Exercise 2: `first`](exercises/02.md)\n  - [Deeper](./exercises/deep/../deeper.md)\n- [Draft]()\n",
        );
        let seen: Vec<_> = pages
            .iter()
            .map(|page| {
                (
                    page.path.to_str().unwrap_or_default(),
                    page.title.as_str(),
                    page.part.as_deref(),
                    page.summary_line,
                )
            })
            .collect();
        assert_eq!(
            seen,
            [
                ("preface.md", "Preface", None, 3),
                ("exercises/02.md", "Exercise 2: first", Some("The port"), 7),
                ("exercises/deeper.md", "Deeper", Some("The port"), 8),
            ]
        );
    }

    #[test]
    fn the_page_that_says_the_minutes_is_the_exercises_page() {
        let page = |path: &str, text: &str| Page {
            path: path.into(),
            title: String::new(),
            part: None,
            text: text.into(),
            summary_line: 0,
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
