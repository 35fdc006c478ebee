//! The checks of one page's Markdown: links, images, minutes, typed code.

use std::path::Path;

use pulldown_cmark::{BrokenLink, CodeBlockKind, CowStr, Event, LinkType, Parser, Tag, TagEnd};

use crate::check::ids;
use crate::fault::Fault;
use crate::fault::Problem;
use crate::macros;
use crate::site::Page;
use crate::site::Site;
use crate::site::normal;
use workshop_base::workspace::Workspace;

/// Languages that exercise chapters show from built code only.
const BUILT: [&str; 5] = ["kotlin", "kt", "kts", "rust", "rs"];

/// The faults of this page.
pub fn check(workspace: &Workspace, site: &Site, page: &Page) -> Vec<Fault> {
    let file = Path::new("book").join(&page.path);
    let mut faults = Vec::new();
    let mut fault = |at: usize, problem: Problem| {
        faults.push(Fault::new(
            &file,
            if at == usize::MAX {
                0
            } else {
                macros::line_at(&page.text, at)
            },
            problem,
        ))
    };
    let chapter = is_exercise_chapter(&page.path);
    if chapter
        && !macros::find(&page.text)
            .iter()
            .any(|call| call.name == "minutes" && !call.escaped)
    {
        fault(
            usize::MAX,
            Problem::new(
                "this exercise chapter does not say its minutes",
                "write {{#minutes exercise-N}} below its heading",
            ),
        );
    }
    let undefined = std::cell::RefCell::new(Vec::new());
    let callback = |link: BrokenLink<'_>| -> Option<(CowStr<'_>, CowStr<'_>)> {
        // A lone [word] is prose; [text][name] and [text][] want a definition.
        if matches!(
            link.link_type,
            LinkType::Reference
                | LinkType::ReferenceUnknown
                | LinkType::Collapsed
                | LinkType::CollapsedUnknown
        ) {
            undefined
                .borrow_mut()
                .push((link.span.start, link.reference.to_string()));
        }
        None
    };
    let mut image: Option<(usize, String)> = None;
    let mut code: Option<(usize, String)> = None;
    let mut typed_reason = false;
    for (event, range) in
        Parser::new_with_broken_link_callback(&page.text, macros::options(), Some(callback))
            .into_offset_iter()
    {
        match &event {
            Event::Start(Tag::Link { dest_url, .. }) => {
                if let Err(problem) = link(workspace, site, page, dest_url) {
                    fault(range.start, problem);
                }
            }
            Event::Start(Tag::Image { dest_url, .. }) => {
                image = Some((range.start, String::new()));
                if let Err(problem) = asset(workspace, page, dest_url) {
                    fault(range.start, problem);
                }
            }
            Event::End(TagEnd::Image) => {
                if let Some((at, alt)) = image.take()
                    && alt.trim().is_empty()
                {
                    fault(at, no_alt());
                }
            }
            Event::Start(Tag::CodeBlock(kind)) => {
                let language = match kind {
                    CodeBlockKind::Fenced(info) => {
                        info.split([',', ' ']).next().unwrap_or_default().to_owned()
                    }
                    CodeBlockKind::Indented => String::new(),
                };
                let built = is_below_exercises(&page.path)
                    && BUILT.contains(&language.as_str())
                    && !typed_reason;
                code = built.then(|| (range.start, String::new()));
                typed_reason = false;
            }
            Event::End(TagEnd::CodeBlock) => {
                if let Some((at, text)) = code.take()
                    && !only_includes(&text)
                {
                    fault(
                        at,
                        Problem::new(
                            "code that was typed, not taken from code that is built",
                            "use {{#panes}} or {{#code}}; where that cannot be, put <!-- typed: the reason --> on the line before",
                        ),
                    );
                }
            }
            Event::Text(text) | Event::Code(text) => {
                if let Some((_, alt)) = &mut image {
                    alt.push_str(text);
                }
                if let Some((_, code)) = &mut code {
                    code.push_str(text);
                }
            }
            Event::Html(html) | Event::InlineHtml(html) => {
                if let Some(reason) = html
                    .trim()
                    .strip_prefix("<!-- typed:")
                    .and_then(|rest| rest.strip_suffix("-->"))
                {
                    typed_reason = !reason.trim().is_empty();
                    if !typed_reason {
                        fault(
                            range.start,
                            Problem::new(
                                "a typed block without a reason",
                                "write <!-- typed: the reason -->",
                            ),
                        );
                    }
                }
                for at in images_without_alt(html) {
                    fault(range.start + at, no_alt());
                }
            }
            _ => {}
        }
        // Only the very next block is excused.
        if matches!(
            event,
            Event::Start(Tag::Paragraph | Tag::Heading { .. } | Tag::List(_))
        ) {
            typed_reason = false;
        }
    }
    for (at, name) in undefined.into_inner() {
        fault(
            at,
            Problem::new(
                format!("the link [{name}] is not defined on this page"),
                format!("write [{name}]: target at the end of the page"),
            ),
        );
    }
    faults
}

fn no_alt() -> Problem {
    Problem::new(
        "an image without alternative text",
        "say in its brackets what it shows",
    )
}

/// `exercises/03-read-a-record.md`: the page that holds an exercise.
fn is_exercise_chapter(path: &Path) -> bool {
    path.parent() == Some(Path::new("exercises"))
}

/// The chapter or a page beside it.
fn is_below_exercises(path: &Path) -> bool {
    path.starts_with("exercises")
}

/// True when the code holds nothing but includes.
fn only_includes(code: &str) -> bool {
    code.lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .all(|line| line.starts_with("{{#include ") && line.ends_with("}}"))
}

/// Where `<img` tags without a text stand.
fn images_without_alt(html: &str) -> Vec<usize> {
    html.match_indices("<img")
        .filter(|(at, _)| {
            let tag = &html[*at..];
            let tag = &tag[..tag.find('>').unwrap_or(tag.len())];
            tag.split_once("alt=\"")
                .is_none_or(|(_, rest)| rest.trim_start().starts_with('"'))
        })
        .map(|(at, _)| at)
        .collect()
}

/// True for addresses that leave the book.
fn is_external(target: &str) -> bool {
    target.split_once(':').is_some_and(|(scheme, _)| {
        scheme
            .chars()
            .all(|character| character.is_ascii_alphanumeric() || character == '+')
    })
}

/// Judges a link's target.
fn link(workspace: &Workspace, site: &Site, page: &Page, target: &str) -> Result<(), Problem> {
    if is_external(target) {
        return Ok(());
    }
    let (path, id) = target
        .split_once('#')
        .map_or((target, None), |(path, id)| (path, Some(id)));
    let there = if path.is_empty() {
        page
    } else {
        let file = inside(page, path)?;
        match site.page(&file) {
            Some(there) => there,
            None if file.extension().is_some_and(|extension| extension == "md") => {
                return Err(Problem::new(
                    format!("the link {target} leads to no page of the book"),
                    "correct it, or name the page in book/SUMMARY.md",
                ));
            }
            None => return exists(workspace, &file, target),
        }
    };
    match id {
        Some(id) if !ids::of(&there.text).contains(id) => Err(Problem::new(
            format!(
                "the link {target} leads to no heading of book/{}",
                there.path.display()
            ),
            "correct the part after #: the heading in lower case, with hyphens for spaces",
        )),
        _ => Ok(()),
    }
}

/// Judges an image's target.
fn asset(workspace: &Workspace, page: &Page, target: &str) -> Result<(), Problem> {
    if is_external(target) {
        return Err(Problem::new(
            format!("the image {target} is loaded from elsewhere"),
            "keep it in the book; everything must load without a network",
        ));
    }
    exists(workspace, &inside(page, target)?, target)
}

/// The file that a relative target names, from the book's source folder.
fn inside(page: &Page, target: &str) -> Result<std::path::PathBuf, Problem> {
    let folder = page.path.parent().unwrap_or(Path::new(""));
    let file = normal(&folder.join(target));
    if Path::new(target).is_absolute() || file.starts_with("..") {
        return Err(Problem::new(
            format!("the link {target} leaves the book, and only the book is published"),
            "link to a page of the book, or name the file as text",
        ));
    }
    Ok(file)
}

fn exists(workspace: &Workspace, file: &Path, target: &str) -> Result<(), Problem> {
    if workspace.book().join(file).is_file() {
        return Ok(());
    }
    Err(Problem::new(
        format!("the link {target} leads to no file of the book"),
        "correct the path, seen from this page",
    ))
}
