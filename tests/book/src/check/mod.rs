//! The book's checks: what mdBook lets pass and readers stumble over.

pub mod pages;
pub mod rendered;
pub mod style;
pub mod words;

use std::collections::HashSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use walkdir::WalkDir;

use crate::expand::Expander;
use crate::fault::{Fault, Problem};
use crate::macros;
use crate::site::{Site, normal};
use workshop_base::exercise::Catalogue;
use workshop_base::outcome::Trouble;
use workshop_base::probe;
use workshop_base::workspace::Workspace;
use workshop_results::file::CALIBRATION;

/// What is wrong with the book: its source, and what mdBook makes of it, unless a macro keeps it from being made.
pub fn check(workspace: &Workspace) -> anyhow::Result<Vec<Fault>> {
    let mut faults = source(workspace)?;
    let site = Site::from_disk(workspace)?;
    if expanding(workspace, &site).is_empty() {
        let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
        render(workspace, folder.path())?;
        faults.extend(rendered::check(&site, folder.path())?);
    }
    faults.sort();
    faults.dedup();
    Ok(faults)
}

/// The faults of the macros.
fn expanding(workspace: &Workspace, site: &Site) -> Vec<Fault> {
    let expander = Expander::new(workspace, site);
    let faults = site
        .pages
        .iter()
        .filter_map(|page| expander.expand(page).err());
    faults.flatten().collect()
}

/// What is wrong with the book's source, all but its links.
pub fn source(workspace: &Workspace) -> anyhow::Result<Vec<Fault>> {
    let site = Site::from_disk(workspace)?;
    let mut faults = expanding(workspace, &site);
    faults.extend(site.pages.iter().flat_map(pages::check));
    faults.extend(missing_references(workspace, &site));
    faults.extend(missing_differences(workspace, &site));
    let included = included(&site);
    for (file, text) in texts(workspace)? {
        faults.extend(words::check(&file, &text));
        if file.extension() == Some(OsStr::new("md")) {
            faults.extend(style::check(&file, &text));
        }
        let page = file.strip_prefix("book").unwrap_or(&file);
        let is_page = file.starts_with("book") && file.extension() == Some(OsStr::new("md"));
        if is_page && page != "SUMMARY.md" && site.page(page).is_none() && !included.contains(page)
        {
            let problem = Problem::new(
                "this page is not in the table of contents",
                "name it in book/SUMMARY.md, or remove it",
            );
            faults.push(Fault::new(&file, 0, problem));
        }
    }
    Ok(faults)
}

/// Renders the book into this folder, with this very program as the preprocessor, so that no cargo is waited for.
fn render(workspace: &Workspace, folder: &Path) -> anyhow::Result<()> {
    let program = std::env::current_exe().context("cannot find out which program this is")?;
    let preprocessor = format!("\"{}\"", program.display());
    let mdbook = probe::tool(workspace, "mdbook").ok_or_else(|| {
        Trouble::new("there is no mdbook to render the book with")
            .expected("mdbook on PATH or in .workshop/tools/bin")
            .next("./justw --bring mdbook")
    })?;
    let output = Command::new(mdbook)
        .arg("build")
        .arg("--dest-dir")
        .arg(folder)
        .arg(workspace.root())
        .env("MDBOOK_PREPROCESSOR__WORKSHOP__COMMAND", preprocessor)
        .env("WORKSHOP_ROOT", workspace.root())
        .output()
        .context("cannot start mdbook")?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(Trouble::new(format!(
        "mdbook does not build the book:\n{}",
        said.trim_end()
    ))
    .next("fix what it names, then just serve")
    .failed()
    .into())
}

/// The book's Markdown and the committed result files, by their paths from the checkout's root.
fn texts(workspace: &Workspace) -> anyhow::Result<Vec<(PathBuf, String)>> {
    let mut texts = Vec::new();
    let hints = WalkDir::new(workspace.exercises()).max_depth(2);
    let hints = hints.into_iter().filter_entry(|entry| {
        entry.file_type().is_dir() || entry.file_name() == OsStr::new("hints.md")
    });
    let book = WalkDir::new(workspace.book()).sort_by_file_name();
    for entry in book.into_iter().chain(hints) {
        let entry = entry.context("cannot list the book's folder")?;
        let is_result = entry.path().parent() == Some(&workspace.reference_results());
        let wanted = match entry.path().extension().and_then(OsStr::to_str) {
            Some("md") => true,
            Some("json") => is_result,
            _ => false,
        };
        if wanted && entry.file_type().is_file() {
            let text = std::fs::read_to_string(entry.path())
                .with_context(|| format!("cannot read {}", entry.path().display()))?;
            texts.push((
                entry.path().strip_prefix(workspace.root())?.to_path_buf(),
                text,
            ));
        }
    }
    Ok(texts)
}

/// The files that pages include, from the book's folder.
fn included(site: &Site) -> HashSet<PathBuf> {
    let mut included = HashSet::new();
    for page in &site.pages {
        let folder = page.path.parent().unwrap_or(Path::new(""));
        let calls = macros::find(&page.text).into_iter();
        let paths = calls
            .filter(|call| call.name == "include")
            .filter_map(|call| {
                let path = call.arguments.first()?.split(':').next()?;
                Some(normal(&folder.join(path)))
            });
        included.extend(paths);
    }
    included
}

/// Chapters of exercises with code that do not show what leads from the starter to the reference.
fn missing_differences(workspace: &Workspace, site: &Site) -> Vec<Fault> {
    // A catalogue that cannot be read is a fault of each page that asks for it, and told there.
    let Ok(catalogue) = Catalogue::read(workspace) else {
        return Vec::new();
    };
    let mut faults = Vec::new();
    for page in &site.pages {
        let calls = macros::find(&page.text);
        let named = |name: &str| {
            calls
                .iter()
                .find(|call| call.name == name && !call.escaped)
                .and_then(|call| call.exercise().ok())
        };
        let chapter_of = named("minutes").and_then(|number| catalogue.get(number).ok());
        let Some(exercise) = chapter_of.filter(|exercise| exercise.is_crate()) else {
            continue;
        };
        if named("diff") != Some(exercise.number) {
            let problem = Problem::new(
                "this exercise chapter does not show the difference between starter and reference",
                format!(
                    "write {{{{#diff {}}}}} below a heading of its own",
                    exercise.name()
                ),
            );
            faults.push(Fault::new(Path::new("book").join(&page.path), 0, problem));
        }
    }
    faults
}

/// Figures that a page promises and nobody has measured.
fn missing_references(workspace: &Workspace, site: &Site) -> Vec<Fault> {
    let mut faults = Vec::new();
    for page in &site.pages {
        for call in macros::find(&page.text)
            .into_iter()
            .filter(|call| !call.escaped)
        {
            let (name, command) = match (call.name.as_str(), call.arguments.first()) {
                ("results", Some(name)) => {
                    let command = match name.as_str() {
                        CALIBRATION => "just calibrate --reference".to_owned(),
                        "exercise-1" => "just measure exercise-1 --reference".to_owned(),
                        other => format!(
                            "just measure {} --reference",
                            other.replace("exercise", "solution")
                        ),
                    };
                    (name.clone(), command)
                }
                _ => continue,
            };
            if !workspace
                .reference_results()
                .join(format!("{name}.json"))
                .is_file()
            {
                let problem = Problem::new(
                    format!("there are no committed figures for {name}"),
                    format!("measure them on a quiet machine: {command}"),
                );
                faults.push(Fault::new(
                    Path::new("book").join(&page.path),
                    call.line,
                    problem,
                ));
            }
        }
    }
    faults
}
