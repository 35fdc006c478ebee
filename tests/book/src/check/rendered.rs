//! The checks of the book as mdBook rendered it: everything loads without a network, every link arrives, images have a text. A
//! fault is told at the place in the page's source where the link is written, else at its place in the rendered page.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context;
use html5gum::{DefaultEmitter, Token, Tokenizer};
use pulldown_cmark::{Event, Tag};
use walkdir::WalkDir;

use crate::fault::PageFault;
use crate::macros;
use crate::site::{Page, Site, normal};
use workshop_base::files;
use workshop_base::outcome::Trouble;

/// The attributes that name what a browser fetches or goes to.
const TARGETS: [&str; 5] = ["href", "src", "srcset", "poster", "data"];

/// The elements whose targets a browser fetches only when the reader follows them.
const FOLLOWED: [&str; 2] = ["a", "area"];

/// What loads something into a stylesheet from elsewhere.
const REMOTE_STYLES: [&str; 5] = ["url(http", "url('http", "url(\"http", "url(//", "@import"];

/// A start tag.
struct Element {
    name: String,
    attributes: BTreeMap<String, String>,
    line: usize,
}

/// The files of the rendered book, and the elements of those that are pages.
struct Book(BTreeMap<PathBuf, Vec<Element>>);

/// The faults of the book that was rendered into this folder.
pub fn check(site: &Site, folder: &Path) -> anyhow::Result<Vec<PageFault>> {
    let mut book = Book(BTreeMap::new());
    let mut faults = Vec::new();
    for entry in WalkDir::new(folder) {
        let entry = entry.context("cannot list the rendered book")?;
        if entry.file_type().is_dir() {
            continue;
        }
        let file = entry.path().strip_prefix(folder)?;
        let is = |extension| file.extension().is_some_and(|there| there == extension);
        let mut found = Vec::new();
        if is("html") {
            found = elements(&files::text(entry.path())?);
        } else if is("css") {
            for (line, text) in (1..).zip(files::text(entry.path())?.lines()) {
                if REMOTE_STYLES.iter().any(|mark| text.contains(mark)) {
                    let problem = from_elsewhere("a stylesheet that loads something");
                    faults.push(PageFault::new(in_html(file), line, problem));
                }
            }
        }
        book.0.insert(file.to_path_buf(), found);
    }
    let source = |file: &Path| site.page(&file.with_extension("md"));
    let (written, made): (Vec<_>, Vec<_>) = book.0.keys().partition(|file| source(file).is_some());
    let of_pages = written
        .iter()
        .flat_map(|file| book.faults(file, source(file)));
    faults.extend(of_pages);
    // What mdBook makes of all pages together repeats their faults.
    if faults.is_empty() {
        faults.extend(made.iter().flat_map(|file| book.faults(file, None)));
    }
    Ok(faults)
}

impl Book {
    /// The faults of one rendered page, which may be made of a page of the source.
    fn faults(&self, file: &Path, source: Option<&Page>) -> Vec<PageFault> {
        let mut faults = Vec::new();
        for element in &self.0[file] {
            let here = |problem| PageFault::new(in_html(file), element.line, problem);
            let class = element.attribute("class");
            if class.is_some_and(|class| class.split(' ').any(|name| name == "mdbook-runnable")) {
                faults.push(here(
                    Trouble::new("code with a button that runs it elsewhere")
                        .next("set runnable = false in book.toml"),
                ));
            }
            for (attribute, target) in element.targets() {
                if is_remote(target) {
                    if !FOLLOWED.contains(&element.name.as_str()) {
                        let what = format!("<{} {attribute}> loads {target}", element.name);
                        faults.push(here(from_elsewhere(&what)));
                    }
                    continue;
                }
                let is_dead = self.is_dead(file, target);
                let alt = element.attribute("alt").unwrap_or_default();
                let is_mute = element.name == "img" && alt.trim().is_empty() && source.is_some();
                if !is_dead && !is_mute {
                    continue;
                }
                let problem = |written: &str| match is_dead {
                    true => self.why_dead(file, target, written),
                    false => Trouble::new("an image without alternative text")
                        .next("say in its brackets what it shows"),
                };
                let places = source.map_or(Vec::new(), |page| places(page, target));
                if places.is_empty() {
                    faults.push(here(problem(target)));
                }
                let of_source = Path::new("book").join(file).with_extension("md");
                let places = places.into_iter();
                let told =
                    places.map(|(line, how)| PageFault::new(&of_source, line, problem(&how)));
                faults.extend(told);
            }
        }
        faults
    }

    fn is_dead(&self, file: &Path, target: &str) -> bool {
        let (there, id) = address(file, target);
        let Some(elements) = self.0.get(&there) else {
            return true;
        };
        let mut ids = elements
            .iter()
            .filter_map(|element| element.attribute("id"));
        !(id.is_empty() || elements.is_empty() || ids.any(|there| there == id))
    }

    /// Why this link, as its author wrote it, does not arrive.
    fn why_dead(&self, file: &Path, target: &str, written: &str) -> Trouble {
        let (there, _) = address(file, target);
        let path = written.split('#').next().unwrap_or_default();
        let (what, next) = if there.starts_with("..") || written.starts_with('/') {
            (
                "leaves the book, and only the book is published".to_owned(),
                "link to a page of the book, or name the file as text",
            )
        } else if self.0.contains_key(&there) {
            (
                format!("leads to no heading of {}", there.display()),
                "correct the part after #: the heading in lower case, with hyphens for spaces",
            )
        } else if path.ends_with(".md") {
            (
                "leads to no page of the book".to_owned(),
                "correct it, or name the page in book/SUMMARY.md",
            )
        } else {
            (
                "leads to no file of the book".to_owned(),
                "correct the path, seen from this page",
            )
        };
        Trouble::new(format!("the link {written} {what}")).next(next)
    }
}

impl Element {
    fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.get(name).map(String::as_str)
    }

    fn targets(&self) -> impl Iterator<Item = (&'static str, &str)> {
        // <base> only says from where the others are seen.
        let targets = TARGETS.into_iter().filter(|_| self.name != "base");
        targets.filter_map(|name| Some((name, self.attribute(name)?)))
    }
}

/// The start tags of a page; what is inside of scripts and comments is none.
fn elements(text: &str) -> Vec<Element> {
    let mut emitter = DefaultEmitter::<usize>::new_with_span();
    emitter.naively_switch_states(true);
    let words = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (mut line, mut seen) = (1, 0);
    let mut elements = Vec::new();
    for token in Tokenizer::new_with_emitter(text, emitter).flatten() {
        let Token::StartTag(tag) = token else {
            continue;
        };
        line += macros::line_at(&text[seen..], tag.span.start - seen) - 1;
        seen = tag.span.start;
        let attributes = tag.attributes.iter();
        elements.push(Element {
            name: words(&tag.name),
            attributes: attributes
                .map(|(name, value)| (words(name), words(value)))
                .collect(),
            line,
        });
    }
    elements
}

/// The lines of a page that write this target, as a link or an image of Markdown or in HTML, and how they write it.
fn places(page: &Page, target: &str) -> Vec<(usize, String)> {
    // mdBook renders links to pages as links to what it makes of them.
    let rendered = |written: &str| match written.split_once(".md") {
        Some((page, id)) if id.is_empty() || id.starts_with('#') => format!("{page}.html{id}"),
        _ => written.to_owned(),
    };
    let quoted = format!("\"{target}\"");
    let events = macros::parser(&page.text).into_offset_iter();
    let places = events.filter_map(|(event, range)| {
        let (offset, written) = match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                (rendered(&dest_url) == target).then(|| (0, dest_url.to_string()))?
            }
            Event::Html(html) | Event::InlineHtml(html) => (html.find(&quoted)?, target.to_owned()),
            _ => return None,
        };
        Some((macros::line_at(&page.text, range.start + offset), written))
    });
    places.collect()
}

/// The file that a relative target names, seen from this one, and the id in it; an empty one for none.
fn address(file: &Path, target: &str) -> (PathBuf, String) {
    let target = target.replace("%20", " ");
    let (path, id) = target.split_once('#').unwrap_or((&target, ""));
    let path = path.split('?').next().unwrap_or_default();
    let there = match path.strip_prefix('/') {
        Some(from_root) => normal(Path::new(from_root)),
        None if path.is_empty() => file.to_path_buf(),
        None => normal(&file.parent().unwrap_or(Path::new("")).join(path)),
    };
    (there, id.to_owned())
}

fn is_remote(target: &str) -> bool {
    let scheme = target.split_once(':').map_or("", |(scheme, _)| scheme);
    let is_of_scheme = |c: char| c.is_ascii_alphanumeric() || c == '+';
    target.starts_with("//") || !scheme.is_empty() && scheme.chars().all(is_of_scheme)
}

fn from_elsewhere(what: &str) -> Trouble {
    Trouble::new(format!("{what} from elsewhere"))
        .next("keep it in the book; everything must load without a network")
}

fn in_html(file: &Path) -> PathBuf {
    Path::new("book-html").join(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(page: &str) -> Vec<String> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::create_dir(folder.path().join("a")).expect("a folder");
        std::fs::write(folder.path().join("a/page.html"), page).expect("written");
        std::fs::write(folder.path().join("other.html"), "<h1 id=\"top\">x</h1>").expect("written");
        std::fs::write(folder.path().join("style.css"), "a { color: red }").expect("written");
        check(&Site::default(), folder.path())
            .expect("checked")
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn what_is_there_passes() {
        let page = "<link rel=\"stylesheet\" href=\"../style.css\">\n<a href=\"../other.html#top\">x</a> <a href='https://example.org'>y</a> <a href=\"#here\">z</a><p id=here></p><!-- <img src=\"http://x\"> --><script>if (a < b) document.write('<img src=\"http://x\">');</script>";
        assert_eq!(faults(page), Vec::<String>::new());
    }

    #[test]
    fn what_comes_from_elsewhere_is_found_with_its_line() {
        let found = faults(
            "<p>\n<script src=\"https://cdn.example.org/x.js\"></script>\n<link href=\"//fonts.example.org/a.css\">",
        );
        assert!(
            found[0].starts_with("book-html/a/page.html:2: <script src> loads https://cdn"),
            "{found:?}"
        );
        assert!(
            found[1].starts_with("book-html/a/page.html:3: <link href> loads //fonts"),
            "{found:?}"
        );
    }

    #[test]
    fn dead_links_are_found() {
        let found = faults(
            "<a href=\"../gone.html\">x</a><a href=\"../other.html#gone\">y</a><img src=\"gone.png\">",
        );
        assert_eq!(found.len(), 3, "{found:?}");
    }
}
