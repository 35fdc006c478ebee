//! The book's checks: what mdBook lets pass and readers stumble over.

pub mod minutes;
pub mod pages;
pub mod rendered;
pub mod style;
pub mod words;

use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anyhow::Context;
use walkdir::WalkDir;

use crate::expand::Expander;
use crate::fault::PageFault;
use crate::render::render;
use crate::site::{Page, Site};
use crate::way::Way;
use crate::{picture, question};
use workshop_base::files;
use workshop_base::outcome::Trouble;
use workshop_base::workspace::Workspace;

/// The most words on the core way.
const CORE_WORDS: usize = 32_000;
/// The most pages on it.
const CORE_PAGES: usize = 40;
/// Where the pages are listed.
const SUMMARY: &str = "book/SUMMARY.md";

/// What is wrong with the book: its source, and what mdBook makes of it.
pub fn check(workspace: &Workspace) -> anyhow::Result<Vec<PageFault>> {
    let mut faults = source(workspace)?;
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    match render(workspace, Some(folder.path())) {
        Ok(()) => faults.extend(rendered::check(&Site::read(workspace)?, folder.path())?),
        // A macro that keeps it from being made is told already.
        Err(_) if !faults.is_empty() => {}
        Err(error) => return Err(error),
    }
    faults.sort();
    faults.dedup();
    Ok(faults)
}

/// What is wrong with the book's source, all but its links.
pub fn source(workspace: &Workspace) -> anyhow::Result<Vec<PageFault>> {
    let site = Site::read(workspace)?;
    let expander = Expander::new(workspace, &site)?;
    let mut faults = minutes::check(workspace, &site, &expander.catalogue)?;
    faults.extend(question::check(workspace)?);
    faults.extend(picture::check(workspace, &site)?);
    let way = Way::new(workspace, &site, &expander.catalogue);
    let words: usize = way.core().map(minutes::words).sum();
    let pages = way.core().count();
    if words > CORE_WORDS || pages > CORE_PAGES {
        let problem = Trouble::new(format!("the core way has {words} words on {pages} pages"))
            .expected(format!("at most {CORE_WORDS} on {CORE_PAGES}"))
            .next("shorten its pages, merge two, or move one to a track");
        faults.push(PageFault::new(SUMMARY, 0, problem));
    }
    for page in &site.pages {
        faults.extend(expander.expand(page).err().into_iter().flatten());
        faults.extend(pages::check(page, workspace, &expander.catalogue));
    }
    let included: HashSet<PathBuf> = site.pages.iter().flat_map(included).collect();
    for (file, text) in texts(workspace)? {
        faults.extend(words::check(&file, &text));
        if file.extension() != Some(OsStr::new("md")) {
            continue;
        }
        faults.extend(style::check(&file, &text));
        let is_lost = |page: &Path| {
            page != "SUMMARY.md" && site.page(page).is_none() && !included.contains(&file)
        };
        if file.strip_prefix("book").is_ok_and(is_lost) {
            let problem = Trouble::new("this page is not in the table of contents")
                .next("name it in book/SUMMARY.md, or remove it");
            faults.push(PageFault::new(&file, 0, problem));
        }
    }
    Ok(faults)
}

/// The book's Markdown, the hints and the committed result files, by their paths from the checkout's root.
fn texts(workspace: &Workspace) -> anyhow::Result<Vec<(PathBuf, String)>> {
    let mut texts = Vec::new();
    let hints = WalkDir::new(workspace.exercises()).max_depth(2).into_iter();
    let hints = hints.filter_entry(|entry| {
        let is_hints = |name: &OsStr| name == "hints.md" || name == "kotlin-words.md";
        entry.file_type().is_dir() || is_hints(entry.file_name())
    });
    let book = WalkDir::new(workspace.book()).sort_by_file_name();
    for entry in book.into_iter().chain(hints) {
        let entry = entry.context("cannot list the book's folder")?;
        let is_result = entry.path().parent() == Some(&workspace.reference_results());
        let extension = entry.path().extension().and_then(OsStr::to_str);
        if extension == Some("md") || extension == Some("json") && is_result {
            let file = entry.path().strip_prefix(workspace.root())?;
            texts.push((file.to_path_buf(), files::text(entry.path())?));
        }
    }
    Ok(texts)
}

/// The files that a page includes, from the checkout's root.
fn included(page: &Page) -> Vec<PathBuf> {
    let calls = page.calls().filter(|call| call.name == "include");
    let files = calls.filter_map(|call| {
        let path = call.arguments.first()?.split(':').next()?;
        Some(page.beside(path))
    });
    files.collect()
}
